import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "./support/process-daemon.js";
import { cut, openTerminal, type TerminalClient } from "./support/terminal-client.js";

let sandbox: TestDaemon;
let base: string;
beforeAll(async () => {
  sandbox = await startTestDaemon();
  base = `ws://127.0.0.1:${sandbox.port}/agentsandbox/pty`;
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const size = { cols: 80, rows: 24 };

/** Start a shell command on a terminal. */
async function start(command: string, query = "", more: object = {}) {
  const terminal = await openTerminal(`${base}${query}`);
  terminal.send({ type: "start", ...size, cmd: "/bin/bash", args: ["-c", command], ...more });
  const { pid, session } = await terminal.frame("ready");
  return { ...terminal, pid, session };
}

describe("a terminal over WebSocket", () => {
  it("PTY-01: never loses the tail of the output, and the exit is the last frame", async () => {
    for (let round = 0; round < 25; round += 1) {
      const terminal = await start("seq 1 20000; exit 3");
      expect(await terminal.closed).toBe(1000);
      expect(terminal.output().toString().endsWith("20000\r\n")).toBe(true);
      expect(terminal.frames.at(-1)).toEqual({ type: "exit", outcome: "exited", exit_code: 3, status: "exit status 3" });
    }
  });

  it("reports a signal and a deadline as what they were", async () => {
    const killed = await start("kill -9 $$");
    expect(await killed.frame("exit")).toEqual({ type: "exit", outcome: "signaled", signal: "SIGKILL", status: "signal: killed" });
    const late = await start("sleep 100", "", { timeout_ms: 50 });
    expect(await late.frame("exit")).toMatchObject({ outcome: "timed_out", signal: "SIGKILL" });
    const byClient = await start("sleep 100");
    byClient.send({ type: "kill" });
    expect(await byClient.frame("exit")).toMatchObject({ outcome: "signaled", signal: "SIGKILL" });
  });

  it("starts a login shell by default, with size, variables, cwd and user", async () => {
    const terminal = await openTerminal(base);
    terminal.send({ type: "start", cols: 91, rows: 31, envs: { A: "1" }, cwd: "/tmp", user: "nobody" });
    await terminal.frame("ready");
    terminal.type('stty size; echo "$A $PWD $(id -un)"; exit\n');
    await terminal.closed;
    expect(terminal.output().toString()).toMatch(/31 91\r\n[\s\S]*1 \/tmp nobody\r\n/);
  });

  it("carries every byte both ways as it is", async () => {
    const file = join(sandbox.directory, "bytes");
    const bytes = Buffer.from(Array.from({ length: 256 * 64 }, (_, index) => (index * 7) % 256));
    writeFileSync(file, bytes);
    const out = await start(`stty raw; cat ${file}`);
    await out.closed;
    expect(out.output().equals(bytes)).toBe(true);

    const into = await start(`stty raw -echo; printf go; head -c ${bytes.length} | sha256sum`);
    await into.untilOutput(/go/);
    for (let at = 0; at < bytes.length; at += 1000) into.type(bytes.subarray(at, at + 1000));
    await into.closed;
    expect(into.output().toString()).toContain(createHash("sha256").update(bytes).digest("hex"));
  });

  it.each([
    [0, 24],
    [80, 0],
    [-1, 24],
    [1.5, 24],
    [65_536, 24],
    [80, 65_536],
  ])("PTY-04: refuses %sx%s on start and on resize, and the session survives it", async (cols, rows) => {
    const refused = await openTerminal(base);
    refused.send({ type: "start", cols, rows });
    expect(await refused.frame("error")).toMatchObject({ code: 400, error_code: "invalid_argument" });
    expect(await refused.closed).toBe(1008);
    const terminal = await start("read -r; stty size");
    terminal.send({ type: "resize", cols, rows });
    expect(await terminal.frame("refused")).toMatchObject({ request: "resize", code: 400, error_code: "invalid_argument" });
    terminal.send({ type: "resize", cols: 65_535, rows: 1 });
    expect(await terminal.frame("resized")).toMatchObject({ cols: 65_535, rows: 1 });
    terminal.type("\n");
    await terminal.closed;
    expect(terminal.output().toString()).toContain("1 65535\r\n");
  });

  it.each(['{"cols":80,"rows":"24"}', '{"cols":80}', '{"cols":null,"rows":24}', '{"cols":1e999,"rows":24}'])(
    "PTY-04: refuses the size %s",
    async (json) => {
      const terminal = await openTerminal(base);
      terminal.socket.send(`{"type":"start",${json.slice(1)}`);
      expect(await terminal.frame("error")).toMatchObject({ code: 400, error_code: "invalid_argument" });
    },
  );

  it("PTY-03: a resize of a terminal that ends is harmless", async () => {
    for (let round = 0; round < 50; round += 1) {
      const terminal = await start("exit");
      terminal.send({ type: "resize", cols: 90, rows: 30 });
      expect(await terminal.frame("exit")).toMatchObject({ exit_code: 0 });
    }
  });

  it("says what is wrong with a start or a pid in a frame, and starts nothing", async () => {
    const cases: [object, object][] = [
      [{ cwd: "/no/such" }, { code: 400, error_code: "invalid_argument" }],
      [{ user: "nosuchuser" }, { code: 401, error_code: "authentication" }],
      [{ cmd: "no-such-program" }, { code: 400, error_code: "invalid_argument" }],
      [{ args: "x" }, { code: 400, error_code: "invalid_argument" }],
      [{ envs: { A: 1 } }, { code: 400, error_code: "invalid_argument" }],
      [{ timeout_ms: 0 }, { code: 400, error_code: "invalid_argument" }],
    ];
    for (const [fields, error] of cases) {
      const terminal = await openTerminal(base);
      terminal.send({ type: "start", ...size, ...fields });
      expect(await terminal.frame("error")).toMatchObject(error);
    }
    const unknown = await openTerminal(`${base}?pid=4194999`);
    expect(await unknown.frame("error")).toMatchObject({ code: 404, error_code: "process_not_found" });
    expect(sandbox.daemon.processes.list()).toEqual([]);
  });

  it.each([
    "pid=0",
    "pid=x",
    "pid=-1",
    "pid=4294967296",
    "from_offset=-1",
    "from_offset=1.5",
    "window=1",
    "session=short",
    `session=${"x".repeat(65)}`,
    "resume=true",
    "resume=x",
  ])("refuses the query %s before it switches protocols", async (query) => {
    await expect(openTerminal(`${base}?${query}`)).rejects.toMatchObject({ status: 400 });
  });

  it("ends the connection, and not the terminal, for frames outside of the contract", async () => {
    for (const text of ["", "{", "[]", "null", '{"type":"x"}', '{"type":"resize"}', '{"type":"ack","offset":9999999}']) {
      const terminal = await start("cat");
      terminal.socket.send(text);
      expect(await terminal.frame("error")).toMatchObject({ code: 400 });
      expect(await terminal.closed).toBe(1008);
      const again = await openTerminal(`${base}?pid=${terminal.pid}`);
      again.send({ type: "kill" });
      await again.frame("exit");
    }
    const early = await openTerminal(base);
    early.type("x");
    expect(await early.frame("error")).toMatchObject({ code: 400 });
  });

  it("answers a request that does not ask for WebSocket, and leaves other upgrades alone", async () => {
    expect((await fetch(`${sandbox.baseUrl}/agentsandbox/pty`)).status).toBe(426);
    await expect(openTerminal(`ws://127.0.0.1:${sandbox.port}/health`)).rejects.toMatchObject({ status: 204 });
  });
});

describe("a terminal that is attached to again", () => {
  it("replays from an offset, and a socket that ended was never an exit", async () => {
    const first = await start("echo one; read -r; echo two; read -r; exit 5");
    await first.untilOutput(/one\r\n/);
    await cut(first);
    expect(first.frames.some(({ type }) => type === "exit")).toBe(false);
    const second = await openTerminal(`${base}?pid=${first.pid}&from_offset=0`);
    expect(await second.frame("ready")).toMatchObject({ pid: first.pid, offset: 0, input_offset: 0 });
    await second.untilOutput(/^one\r\n$/);
    second.type("\n");
    await second.untilOutput(/two/);
    const third = await openTerminal(`${base}?pid=${first.pid}&from_offset=5`);
    await third.untilOutput(/^\r\ntwo\r\n$/);
    third.type("\n");
    expect(await third.frame("exit")).toMatchObject({ exit_code: 5 });
    const late = await openTerminal(`${base}?pid=${first.pid}&from_offset=0`);
    expect(await late.frame("exit")).toMatchObject({ exit_code: 5 });
    expect(late.output().toString()).toContain("one\r\n\r\ntwo\r\n");
    const beyond = await openTerminal(`${base}?pid=${first.pid}&from_offset=100000`);
    expect(await beyond.frame("error")).toMatchObject({ error_code: "invalid_argument" });
  });

  it("says how much is lost when the output was overrun", async () => {
    const first = await start("read -r; head -c 20000000 /dev/zero; echo; echo end; read -r");
    first.socket.close(1000);
    await first.closed;
    const typist = await openTerminal(`${base}?pid=${first.pid}`);
    typist.type("\n");
    await typist.untilOutput(/end\r\n/);
    typist.socket.close(1000);
    await typist.closed;
    const late = await openTerminal(`${base}?pid=${first.pid}&from_offset=0`);
    const { offset } = await late.frame("ready");
    expect(await late.frame("gap")).toEqual({ type: "gap", missing_bytes: offset });
    await late.untilOutput(/end\r\n/);
    expect(offset + late.output().length).toBeGreaterThan(20_000_000);
    late.send({ type: "kill" });
    await late.frame("exit");
  });

  it("knows after a cut which input of the session arrived, and takes the rest once", async () => {
    const keys = "abcdefghijklmnopqrstuvwxyz0123";
    const first = await start(`stty -icanon -echo; printf go; head -c ${keys.length}`);
    await first.untilOutput(/go/);
    let current: TerminalClient = first;
    for (let sent = 0; sent < keys.length; ) {
      // Some of it may arrive before the cut.
      current.type(keys.slice(sent, sent + 7));
      await cut(current);
      current = await openTerminal(`${base}?pid=${first.pid}&from_offset=0&session=${first.session}&resume=true`);
      sent = (await current.frame("ready")).input_offset;
      if (sent === keys.length) break;
      current.type(keys.slice(sent, sent + 3));
      await current.frame("ack");
      sent = Math.min(keys.length, sent + 3);
    }
    await current.frame("exit");
    expect(current.output().toString()).toBe(`go${keys}`);
  });

  it("gives a session to the newest connection only, and refuses one of another terminal", async () => {
    const first = await start("cat");
    const second = await openTerminal(`${base}?pid=${first.pid}&session=${first.session}`);
    await second.frame("ready");
    await first.closed;
    const other = await start("cat");
    const wrong = await openTerminal(`${base}?pid=${other.pid}&session=${first.session}&resume=true`);
    expect(await wrong.frame("error")).toMatchObject({ code: 404, error_code: "not_found" });
    second.send({ type: "kill" });
    other.send({ type: "kill" });
    await Promise.all([second.frame("exit"), other.frame("exit")]);
  });
});

describe("input whose place the client tells", () => {
  it("is typed once, also when a whole connection is repeated", async () => {
    const connection = "?session=a-session-of-mine-1";
    const open = async () => {
      const terminal = await openTerminal(`${base}${connection}`);
      const start_id = "one-start-of-this-test";
      terminal.send({ type: "start", ...size, start_id, cmd: "/bin/bash", args: ["-c", "stty -echo -icanon; printf go; head -c 6"] });
      const { pid } = await terminal.frame("ready");
      await terminal.untilOutput(/go/);
      return { ...terminal, pid };
    };
    const first = await open();
    first.send({ type: "input_at", offset: 0 });
    first.type("abc");
    await first.frame("ack");
    const repeated = await open();
    expect(repeated.pid).toBe(first.pid);
    await first.closed;
    repeated.send({ type: "input_at", offset: 0 });
    repeated.type("ab");
    repeated.type("cd");
    repeated.send({ type: "input_at", offset: 2 });
    repeated.type("cdef");
    expect(await repeated.frame("exit")).toMatchObject({ exit_code: 0 });
    expect(repeated.output().toString()).toBe("goabcdef");
  });

  it("must not leave anything out", async () => {
    const terminal = await start("sleep 100");
    terminal.send({ type: "input_at", offset: 1 });
    terminal.type("b");
    expect(await terminal.frame("error")).toMatchObject({ error_code: "invalid_argument" });
    const again = await openTerminal(`${base}?pid=${terminal.pid}`);
    again.send({ type: "kill" });
    await again.frame("exit");
  });
});

describe("bounds of a terminal connection", () => {
  it("keeps at most the window under way until it is acknowledged, and answers pings meanwhile", async () => {
    const terminal = await start("head -c 1000000 /dev/zero | tr '\\0' x", "?window=65536");
    await terminal.untilBytes(65_536);
    terminal.send({ type: "ping" });
    await terminal.frame("pong");
    expect(terminal.output().length).toBe(65_536);
    let acked = 0;
    while (acked < 1_000_000) {
      acked = terminal.output().length;
      terminal.send({ type: "ack", offset: acked });
      if (acked < 1_000_000) await terminal.untilBytes(acked + 1);
    }
    expect(await terminal.frame("exit")).toMatchObject({ exit_code: 0 });
    expect(terminal.output().length).toBe(1_000_000);
  });

  it("refuses input that a program does not read, with bounded memory", async () => {
    const terminal = await start("stty raw -echo; printf go; sleep 100");
    await terminal.untilOutput(/go/);
    for (let count = 0; count < 40; count += 1) terminal.type(Buffer.alloc(64 * 1024, 120));
    expect(await terminal.frame("error")).toMatchObject({ error_code: "rate_limited" });
    const again = await openTerminal(`${base}?pid=${terminal.pid}`);
    again.send({ type: "kill" });
    await again.frame("exit");
  });
});
