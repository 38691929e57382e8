import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import {
  CommandArgumentError,
  CommandExitError,
  CommandNotFoundError,
  FailedPreconditionError,
  NamedCommandError,
  Sandbox,
  Template,
  TimeoutError,
} from "../../src/index.js";
import { startCommandServer } from "../../src/node/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv, runAbx } from "../support/run-abx.js";

const PROGRAM = `
import { command, defineCommands, startServer } from "@agent-sandbox/sdk/server";

type Item = { readonly name: string };
const commands = defineCommands({
  hello: command({ description: "Greets.", args: { name: "string" }, run: ({ name }: Item) => ({ greeting: \`Hello, \${name}!\`, pid: process.pid }) }),
  count: command({ args: { to: "integer" }, async *run({ to }) { for (let i = 1; i <= to; i += 1) yield i; return "counted"; } }),
  fails: command({ run: () => { throw new TypeError("no"); } }),
  forever: command({ async run(_args, { signal }) { await new Promise((resolve) => signal.addEventListener("abort", resolve)); globalThis.ended = true; } }),
  ended: command({ run: () => (globalThis as { ended?: boolean }).ended === true }),
  envs: command({ isHidden: true, run: () => Object.keys(process.env).filter((name) => name.startsWith("AGENT_SANDBOX_")) }),
});
await startServer(commands);
`;

describeOnPlatform("named commands in a sandbox", (platform) => {
  const at = { apiUrl: platform.apiUrl, sandboxUrl: platform.sandboxUrl, apiKey: platform.apiKey };
  let directory: string;
  let program: string;
  let sandbox: Sandbox;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "command-program-"));
    program = join(directory, "program.ts");
    await writeFile(program, PROGRAM);
    sandbox = await Sandbox.create({ ...at, timeoutMs: 300_000 });
    await startCommandServer(sandbox, program);
  });
  afterAll(async () => {
    await sandbox?.kill();
    await rm(directory, { recursive: true });
  });

  it("run a TypeScript program inside, and are called from outside through the edge", async () => {
    expect(await sandbox.run("hello", { name: "Ada" })).toMatchObject({ greeting: "Hello, Ada!" });
    expect(await sandbox.listCommands()).toContainEqual({
      name: "hello",
      description: "Greets.",
      args: [{ name: "name", type: "string", required: true, default: null, description: "" }],
      source: "server",
      isShadowed: false,
    });
    const { pid } = (await sandbox.run("hello", { name: "Ada" })) as { pid: number };
    expect((await sandbox.commands.list()).map((process) => process.pid)).toContain(pid);
  });

  it("report their progress in order, before their result", async () => {
    const seen: unknown[] = [];
    expect(await sandbox.run("count", { to: 3 }, { onProgress: (value) => seen.push(value) })).toBe("counted");
    expect(seen).toEqual([1, 2, 3]);
  });

  it("reject with errors that list what exists", async () => {
    const unknown = await sandbox.run("helo").catch((error: unknown) => error);
    expect(unknown).toBeInstanceOf(CommandNotFoundError);
    expect(unknown).toMatchObject({
      commandName: "helo",
      available: ["hello", "count", "fails", "forever", "ended"],
      sandboxId: sandbox.sandboxId,
    });
    const missing = await sandbox.run("hello", {}).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(CommandArgumentError);
    expect(missing).toMatchObject({ argument: "name", expected: [{ name: "name", type: "string" }], reason: "invalid_argument" });
    expect(await sandbox.run("hello", { name: 3 }).catch((error: unknown) => error)).toMatchObject({ argument: "name" });
    const failed = await sandbox.run("fails").catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(NamedCommandError);
    expect(failed).toMatchObject({ errorType: "TypeError", commandName: "fails" });
  });

  it("are ended with their deadline, and with the abort of their caller", async () => {
    await expect(sandbox.run("forever", {}, { timeoutMs: 300 })).rejects.toThrow(TimeoutError);
    await expect.poll(() => sandbox.run("ended")).toBe(true);
    const reason = new Error("enough");
    await expect(sandbox.run("forever", {}, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: "TimeoutError" });
    await expect(sandbox.run("hello", { name: "x" }, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  it("need the token that comes from the sandbox, which its programs never see", async () => {
    const headers = { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "9000" };
    const bare = await fetch(`${platform.sandboxUrl}/commands`, { headers });
    expect(bare.status).toBe(401);
    expect(await bare.json()).toMatchObject({ type: "AuthError" });
    expect((await fetch(`${platform.sandboxUrl}/health`, { headers })).status).toBe(200);
    const { AGENT_SANDBOX_SERVER_TOKEN: token = "" } = await sandbox.named().serverEnvs();
    expect((await fetch(`${platform.sandboxUrl}/commands`, { headers: { ...headers, "x-access-token": token } })).status).toBe(200);
    const shown = await fetch(`${platform.sandboxUrl}/shell`, {
      method: "POST",
      headers: { ...headers, "x-access-token": token },
      body: JSON.stringify({ command: "env" }),
    });
    expect(((await shown.json()) as { stdout: string }).stdout).not.toContain(token);
    await expect(sandbox.run("hello", { name: "x" }, { serverToken: "wrong" })).rejects.toMatchObject({ reason: "authentication" });
  });

  it("offer the other routes of the contract from inside the sandbox too", async () => {
    const { AGENT_SANDBOX_SERVER_TOKEN: token = "" } = await sandbox.named().serverEnvs();
    const headers = { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "9000", "x-access-token": token };
    const get = async (path: string) => (await fetch(platform.sandboxUrl + path, { headers })).json();
    expect(await get("/ports")).toMatchObject({ listening: expect.arrayContaining([expect.objectContaining({ port: 9000 })]) });
    expect(await get("/capabilities")).toMatchObject({ groups: { dev_tools: false, browser: false, process: true } });
    const opened = await fetch(`${platform.sandboxUrl}/pty/sessions`, { method: "POST", headers, body: "{}" });
    const { ws_url: socketUrl } = (await opened.json()) as { ws_url: string };
    expect(socketUrl).toMatch(/^ws:\/\/localhost:9001\/pty\?session_id=/);
    const { pathname, search } = new URL(socketUrl);
    const socket = new WebSocket(`${platform.sandboxUrl.replace("http", "ws")}${pathname}${search}`, {
      headers: { ...headers, "e2b-sandbox-port": "9001" },
    });
    const shown = await new Promise<string>((resolve) => {
      let output = "";
      socket.on("message", (data) => {
        const message = JSON.parse(String(data)) as { type: string; event?: string; data?: string };
        if (message.event === "started") socket.send(JSON.stringify({ type: "input", data: "id -un; exit\n" }));
        if (message.event === "exited") resolve(output);
        output += message.data ?? "";
      });
    });
    expect(shown).toMatch(/^user\r$/m);
  });

  it("are not started twice on one port, and a start can be given up", async () => {
    await expect(startCommandServer(sandbox, program)).rejects.toThrow("a server answers on port 9000 of the sandbox already");
    const silent = join(directory, "silent.ts");
    await writeFile(silent, "setInterval(() => {}, 1000);");
    const options = { port: 9200, remoteDirectory: "/home/user/silent" };
    await expect(startCommandServer(sandbox, silent, { ...options, readyTimeoutMs: 600 })).rejects.toMatchObject({ reason: "timeout" });
    const reason = new Error("enough");
    const giveUp = new AbortController();
    const started = startCommandServer(sandbox, silent, { ...options, signal: giveUp.signal });
    await expect.poll(async () => (await sandbox.commands.list()).some(({ args }) => args.join().includes("silent.ts"))).toBe(true);
    giveUp.abort(reason);
    await expect(started).rejects.toBe(reason);
    await expect.poll(async () => (await sandbox.commands.list()).some(({ args }) => args.join().includes("silent.ts"))).toBe(false);
  });

  it("say so when nothing serves them, or when the program ends before it answers", async () => {
    await using bare = await Sandbox.create({ ...at, timeoutMs: 60_000 });
    await expect(bare.run("hello", { name: "Ada" })).rejects.toThrow(FailedPreconditionError);
    await expect(bare.run("hello")).rejects.toThrow("no command server listens on port 9000");
    expect(await bare.listCommands()).toEqual([]);
    const broken = join(directory, "broken.ts");
    await writeFile(broken, 'throw new Error("cannot begin");');
    await expect(startCommandServer(bare, broken)).rejects.toThrow(/ended with exit (code|status) 1 before it answered: .*cannot begin/s);
    await bare.kill();
    await expect(bare.run("hello")).rejects.toMatchObject({ reason: "sandbox_gone" });
  });

  it("come from a program of several files too, on another port", async () => {
    const project = await mkdtemp(join(tmpdir(), "command-project-"));
    try {
      await mkdir(join(project, "src"));
      await writeFile(join(project, "src/words.ts"), 'export const word: string = "from another file";');
      await writeFile(
        join(project, "src/main.ts"),
        `import { command, startServer } from "@agent-sandbox/sdk/server";
         import { word } from "./words.ts";
         await startServer({ word: command({ run: () => word }) }, { port: 9100, ptyPort: 9101 });`,
      );
      await mkdir(join(project, "node_modules"));
      await writeFile(join(project, "node_modules/large"), "not sent");
      const options = { directory: project, remoteDirectory: "/home/user/project", port: 9100 };
      const server = await startCommandServer(sandbox, join(project, "src/main.ts"), options);
      expect(await sandbox.run("word", {}, { port: 9100 })).toBe("from another file");
      expect(await sandbox.files.exists("/home/user/project/node_modules/large")).toBe(false);
      await server.kill();
      await expect.poll(() => sandbox.named().isServing({ port: 9100 })).toBe(false);
    } finally {
      await rm(project, { recursive: true });
    }
  });

  describe("of template.yaml", () => {
    const name = `custom-${Date.now()}`;
    let templateDir: string;
    beforeAll(async () => {
      templateDir = await mkdtemp(join(tmpdir(), "custom-template-"));
      await writeFile(join(templateDir, "Dockerfile"), "FROM e2bdev/base\n");
      await writeFile(
        join(templateDir, "template.yaml"),
        [
          `name: ${name}`,
          "custom_commands:",
          "  greet:",
          "    cmd: printf '%s|' Hello {who} $GREETING; pwd",
          "    description: Greets with a program.",
          "    cwd: /tmp",
          "    env: { GREETING: today }",
          "    args: [{ name: who, required: true }, { name: loud, type: boolean }]",
          "  hello:",
          "    cmd: echo from the template",
          "  code:",
          "    cmd: exit {code}",
          "    args: [{ name: code, type: integer, default: 3 }]",
          "",
        ].join("\n"),
      );
      const built = await runAbx(["template", "build", "--path", templateDir], { env: platformEnv(platform) });
      expect(built, built.stderr).toMatchObject({ status: 0 });
    });
    afterAll(async () => {
      await rm(templateDir, { recursive: true });
      for (const { names, templateId } of await Template.list(at))
        if (names.some((other) => other.startsWith(name))) await Template.delete(templateId, at);
    });

    it("need no server, take any value as one word, and go before those of a server", async () => {
      await using own = await Sandbox.create(name, { ...at, timeoutMs: 120_000 });
      const who = "Ada'; touch /tmp/pwned; $(id) `id` \"\n*";
      const pieces: string[] = [];
      const greeted = await own.run("greet", { who }, { onProgress: (text) => pieces.push(String(text)) });
      expect(greeted).toMatchObject({ exitCode: 0, stdout: `Hello|${who}|today|/tmp\n` });
      expect(pieces.join("")).toBe(`Hello|${who}|today|/tmp\n`);
      expect(await own.files.exists("/tmp/pwned")).toBe(false);
      await expect(own.run("code")).rejects.toThrow(CommandExitError);
      await expect(own.run("greet", {})).rejects.toMatchObject({ name: "CommandArgumentError", argument: "who" });
      await expect(own.run("nowhere")).rejects.toMatchObject({ name: "CommandNotFoundError", available: ["greet", "hello", "code"] });
      expect((await own.listCommands()).map(({ name: command, source }) => `${command} ${source}`)).toEqual([
        "greet template",
        "hello template",
        "code template",
      ]);

      await startCommandServer(own, program);
      expect(await own.run("hello")).toMatchObject({ stdout: "from the template\n" });
      const listed = await own.listCommands();
      expect(listed.filter(({ name: command }) => command === "hello").map(({ source, isShadowed }) => [source, isShadowed])).toEqual([
        ["template", false],
        ["server", true],
      ]);
      expect(await own.run("count", { to: 1 })).toBe("counted");
      await expect(own.run("nowhere")).rejects.toMatchObject({ available: expect.arrayContaining(["greet", "count"]) });
    });
  });

  it("examples/command-client.ts shows both sides", async () => {
    const example = fileURLToPath(new URL("../../examples/command-client.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [example], {
      env: { PATH: process.env.PATH, ...platformEnv(platform) },
    });
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining([
        "hello(name: string, times?: integer) from the server",
        "Hello, Grace!Hello, Grace!",
        "3 of 3",
        "3 files, 3000 bytes",
        "no such command; there are hello, measure, divide",
        "wrong argument nmae; it takes name,times",
        "it failed with RangeError",
      ]),
    );
  });
});
