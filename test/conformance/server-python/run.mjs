// The Python container-side runtime beside ours: the same requests must have answers of the same status and shape, and our client must get on
// with it. Each difference is printed, then the score.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { command, defineCommands, startServer } from "../../../dist/server/index.js";
import { writeResults } from "../results/write-results.mjs";
import { CHECKS } from "./checks.mjs";
import { CLIENT_CHECKS, withSandbox } from "./client.mjs";

const commands = defineCommands({
  hello: command({
    args: { name: "string", times: { type: "integer", default: 1 } },
    run: ({ name, times }) => `Hello, ${name}!`.repeat(times),
  }),
  secret: command({ isHidden: true, run: () => 42 }),
  fails: command({
    run: () => {
      throw Object.assign(new Error("no"), { name: "RuntimeError" });
    },
  }),
});

const directories = [await mkdtemp(join(tmpdir(), "server-a-")), await mkdtemp(join(tmpdir(), "server-b-"))];
const ours = await startServer(commands, { host: "127.0.0.1", port: 0, ptyPort: 0, baseDir: directories[0], groups: { dev_tools: true } });
const [port, ptyPort] = [await freePort(), await freePort()];
const python = spawn(
  fileURLToPath(new URL(".venv/bin/python", import.meta.url)),
  [fileURLToPath(new URL("server.py", import.meta.url)), port],
  {
    stdio: ["ignore", "ignore", "inherit"],
    cwd: directories[1],
    env: { ...process.env, EBX_SERVER_BASE_DIR: directories[1], EBX_PTY_PORT: ptyPort },
  },
);
const total = CHECKS.length + 1 + Object.keys(CLIENT_CHECKS).length;
const results = [];
const record = (name, reason) => results.push({ client: 0, name, operations: [], reason });
let failed = false;
try {
  await untilServing(`http://127.0.0.1:${port}`);
  const answers = [{}, {}];
  for (const [name, method, path, body] of CHECKS) {
    const [mine, theirs] = await Promise.all([
      ask(`http://127.0.0.1:${ours.port}`, answers[0], name, method, path, body),
      ask(`http://127.0.0.1:${port}`, answers[1], name, method, path, body),
    ]);
    const difference = compare(theirs, mine);
    record(name, difference);
    if (difference !== undefined)
      console.log(
        `${name}: ${difference}\n  theirs ${theirs.status} ${JSON.stringify(theirs.body).slice(0, 300)}\n  ours   ${mine.status} ${JSON.stringify(mine.body).slice(0, 300)}`,
      );
  }
  const [mine, theirs] = await Promise.all([useTerminal(`http://127.0.0.1:${ours.port}`), useTerminal(`http://127.0.0.1:${port}`)]);
  record("terminal over WebSocket", mine === theirs ? undefined : "differs");
  if (mine !== theirs) console.log(`terminal over WebSocket: differs\n  theirs ${theirs}\n  ours   ${mine}`);
  await withSandbox(port, async (sandbox) => {
    for (const [name, check] of Object.entries(CLIENT_CHECKS)) {
      await check(sandbox).then(
        () => record(`our client, ${name}`),
        (error) => {
          record(`our client, ${name}`, error.message);
          console.log(`our client, ${name}: ${error.stack}`);
        },
      );
    }
  });
} catch (error) {
  console.error(error);
  failed = true;
} finally {
  python.kill("SIGKILL");
  await once(python, "exit");
  await ours.close();
  for (const directory of directories) await rm(directory, { recursive: true, force: true });
}
const passed = results.filter(({ reason }) => reason === undefined).length;
writeResults("server-python", [{ name: "easy-sandbox (PyPI)", version: pinnedVersion(), methods: [] }], results);
console.log(`conformance server-python: ${passed} of ${total} exchanges go alike`);
process.exitCode = failed || passed < total ? 1 : 0;

function pinnedVersion() {
  const [, version] = /^easy-sandbox==(\S+)/m.exec(readFileSync(new URL("requirements.txt", import.meta.url), "utf8")) ?? [];
  return version;
}

async function ask(url, answers, name, method, path, body) {
  const response = await fetch(url + (typeof path === "function" ? path(answers) : path), {
    method,
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: typeof body === "string" ? body : JSON.stringify(body),
    }),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
  const parsed = isStream ? text.split("\n\n").filter((event) => event !== "") : JSON.parse(text);
  answers[name] = parsed;
  return { status: response.status, body: parsed };
}

/** A terminal from its opening to the end of its shell: kinds of messages in order, without repetitions, and whether what was typed was run. */
async function useTerminal(url) {
  const opened = await fetch(`${url}/pty/sessions`, {
    method: "POST",
    body: JSON.stringify({ shell: "/bin/sh", env: { COLOUR: "blue" } }),
  });
  const { ws_url: socketUrl, session_id: id } = await opened.json();
  const socket = new WebSocket(socketUrl.replace("localhost", "127.0.0.1"));
  const kinds = [];
  let output = "";
  let isTyped = false;
  await new Promise((resolve) => {
    socket.onmessage = ({ data }) => {
      const { type, event, data: text = "", session_id: named } = JSON.parse(data);
      output += text;
      const kind = `${type}${event ? ` ${event} ${named === id}` : ""}`;
      if (kinds.at(-1) !== kind) kinds.push(kind);
      if (!isTyped && type === "output") {
        isTyped = true;
        socket.send(JSON.stringify({ type: "resize", cols: 90, rows: 20 }));
        socket.send(JSON.stringify({ type: "input", data: "echo $COLOUR-$(stty size | tr ' ' x); exit\n" }));
      }
      if (event === "exited") resolve();
    };
    socket.onclose = resolve;
    socket.onerror = resolve;
  });
  socket.close();
  return JSON.stringify({ kinds, isRun: output.includes("blue-20x90") });
}

/** What of their answer is missing, or of another kind, in ours; what is more in ours is an addition. */
function compare(theirs, mine) {
  if (theirs.status !== mine.status) return `status ${mine.status} instead of ${theirs.status}`;
  return compareValues(theirs.body, mine.body, "");
}

function compareValues(theirs, mine, at) {
  if (Array.isArray(theirs)) {
    if (!Array.isArray(mine)) return `${at} is no list`;
    if (theirs.length > 0 && mine.length === 0) return `${at} is empty`;
    return theirs.length === 0 ? undefined : compareValues(theirs[0], mine[0], `${at}[0]`);
  }
  if (theirs !== null && typeof theirs === "object") {
    for (const [key, value] of Object.entries(theirs)) {
      // A note for people.
      if (key.startsWith("_")) continue;
      if (mine === null || typeof mine !== "object" || !(key in mine)) return `${at}.${key} is missing`;
      const difference = compareValues(value, mine[key], `${at}.${key}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  // Kinds of errors, states and results are compared as they are.
  if ((/\.(type|state|result|stdout|stderr|exit_code|status|language)$/.test(at) || typeof theirs === "boolean") && theirs !== mine)
    return `${at} is ${JSON.stringify(mine)} instead of ${JSON.stringify(theirs)}`;
  return theirs === null || typeof theirs === typeof mine ? undefined : `${at} is a ${typeof mine} instead of a ${typeof theirs}`;
}

async function untilServing(url) {
  for (let tries = 0; tries < 200; tries += 1) {
    const isThere = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("the Python server did not start");
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(String(port)));
    });
  });
}
