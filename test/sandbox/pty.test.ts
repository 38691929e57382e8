import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  AuthenticationError,
  InvalidArgumentError,
  NotFoundError,
  TimeoutError,
  UnimplementedError,
} from "../../src/errors/error-classes.js";
import { type DaemonSandbox, openDaemonSandbox } from "./support/daemon-sandbox.js";

const size = { cols: 80, rows: 24 };

describe.each([
  ["WebSocket", ["process.v1", "pty.v1"]],
  ["our process service", ["process.v1"]],
  ["the shared wire", []],
])("terminals over %s", (wire, services) => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox({ services });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("PTY-01, PTY-02: the whole output is delivered before the end, in order, to a slow reader too", async () => {
    let text = "";
    const decoder = new TextDecoder();
    let isOver = false;
    const terminal = await sandbox.pty.create({
      ...size,
      onData: async (data) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        expect(isOver).toBe(false);
        text += decoder.decode(data, { stream: true });
      },
    });
    await terminal.sendInput("seq 1 20000; exit\n");
    await terminal.wait();
    isOver = true;
    expect(text).toContain("\r\n20000\r\n");
  });

  it("PTY-03: resizing a terminal while it ends, and after, is a typed error or nothing", async () => {
    for (let round = 0; round < 20; round += 1) {
      const terminal = await sandbox.pty.create(size);
      const typed = terminal.sendInput("exit\n");
      const resized = terminal.resize({ cols: 10, rows: 10 }).catch((error: unknown) => expect(error).toBeInstanceOf(NotFoundError));
      await Promise.all([typed, resized, terminal.waitForOutcome()]);
      await expect(terminal.resize({ cols: 10, rows: 10 })).rejects.toBeInstanceOf(NotFoundError);
      await expect(sandbox.pty.resize(terminal.pid, { cols: 10, rows: 10 })).rejects.toBeInstanceOf(NotFoundError);
      await expect(terminal.sendInput("x")).rejects.toBeInstanceOf(NotFoundError);
    }
  });

  it.each([0, -1, 1.5, 65_536, Number.NaN, Number.POSITIVE_INFINITY, undefined as unknown as number])(
    "PTY-04: the side %s is refused on create and on resize, and the session survives it",
    async (side) => {
      await expect(sandbox.pty.create({ cols: side, rows: 24 })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(sandbox.pty.create({ cols: 80, rows: side })).rejects.toBeInstanceOf(InvalidArgumentError);
      const terminal = await sandbox.pty.create(size);
      await expect(terminal.resize({ cols: side, rows: 24 })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(sandbox.pty.resize(terminal.pid, { cols: 80, rows: side })).rejects.toBeInstanceOf(InvalidArgumentError);
      await terminal.sendInput("exit 4\n");
      expect(await terminal.waitForOutcome()).toMatchObject({ exitCode: 4 });
    },
  );

  it("PTY-04: the smallest and the largest size are seen inside", async () => {
    const output: string[] = [];
    const terminal = await sandbox.pty.create({ cols: 81, rows: 25, onData: (data) => void output.push(new TextDecoder().decode(data)) });
    await sandbox.pty.sendInput(terminal.pid, "stty size\n");
    await expect.poll(() => output.join("")).toContain("25 81");
    await sandbox.pty.resize(terminal.pid, { cols: 65_535, rows: 1 });
    await sandbox.pty.sendInput(terminal.pid, "stty size\n");
    await expect.poll(() => output.join("")).toContain("1 65535");
    await terminal.resize({ cols: 1, rows: 65_535 });
    await terminal.sendInput("stty size | tr ' ' _\n");
    await expect.poll(() => output.join("").replaceAll(/[^\d_]/g, "")).toContain("65535_1");
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
    expect(await terminal.waitForOutcome()).toMatchObject({ exitCode: -1, error: "signal: killed" });
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false);
  });

  it("PTY-05: a terminal has a UTF-8 locale and a colour terminal by default, given variables win, and the caller's object stays", async () => {
    for (const [envs, expected] of [
      [undefined, "[xterm-256color C.UTF-8 C.UTF-8]"],
      [Object.freeze({ TERM: "dumb" }), "[dumb C.UTF-8 C.UTF-8]"],
      [Object.freeze({ LC_ALL: "C", X: "ü" }), "[xterm-256color C.UTF-8 C]"],
    ] as const) {
      let text = "";
      const terminal = await sandbox.pty.create({
        ...size,
        envs,
        onData: (data) => {
          text += new TextDecoder().decode(data);
        },
      });
      await terminal.sendInput('echo "[$TERM $LANG $LC_ALL]"; exit\n');
      await terminal.wait();
      expect(text).toContain(expected);
    }
  });

  it("PTY-12: cwd and user are honoured, and wrong ones are typed errors", async () => {
    let text = "";
    const terminal = await sandbox.pty.create({
      ...size,
      cwd: "/tmp",
      user: "root",
      envs: { B: "2" },
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await terminal.sendInput('echo "<$B $PWD $(id -un)>"; exit\n');
    await terminal.wait();
    expect(text).toContain("<2 /tmp root>");
    await expect(sandbox.pty.create({ ...size, cwd: "/no/such" })).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(sandbox.pty.create({ ...size, user: "nosuch" })).rejects.toBeInstanceOf(AuthenticationError);
    await expect(sandbox.pty.connect(4_000_000)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("ends with a TimeoutError at its own deadline, and following ends without ending the terminal", async () => {
    const short = await sandbox.pty.create({ ...size, timeoutMs: 200 });
    await expect(short.wait()).rejects.toMatchObject({ name: "TimeoutError", timeout: "command" });
    const terminal = await sandbox.pty.create(size);
    const follower = await sandbox.pty.connect(terminal.pid, { timeoutMs: 100 });
    await expect(follower.wait()).rejects.toBeInstanceOf(TimeoutError);
    const controller = new AbortController();
    const aborted = await sandbox.pty.connect(terminal.pid, { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(aborted.wait()).rejects.toThrow("enough");
    await terminal.sendInput("exit 6\n");
    expect(await terminal.waitForOutcome()).toMatchObject({ exitCode: 6 });
  });

  it("two sessions on one terminal see the same output, and both can type", async () => {
    const texts = ["", ""];
    const collectInto = (index: number) => (data: Uint8Array) => {
      texts[index] += new TextDecoder().decode(data);
    };
    const first = await sandbox.pty.create({ ...size, onData: collectInto(0) });
    const second = await sandbox.pty.connect(first.pid, { onData: collectInto(1) });
    await second.sendInput("echo from-''second\n");
    await first.sendInput("echo from-''first; exit\n");
    await Promise.all([first.wait(), second.wait()]);
    for (const text of texts) expect(text).toMatch(/from-second[\s\S]*from-first/);
  });

  it("replays from an offset where the daemon keeps output", async () => {
    const terminal = await sandbox.pty.create(size);
    if (wire !== "WebSocket") {
      await expect(sandbox.pty.connect(terminal.pid, { fromOffset: 0 })).rejects.toBeInstanceOf(UnimplementedError);
      await terminal.kill();
      return;
    }
    await terminal.sendInput("echo early-''bird\n");
    let seen = "";
    for await (const output of terminal) {
      if (output.type === "pty") seen += new TextDecoder().decode(output.data);
      if (seen.includes("early-bird")) break;
    }
    let text = "";
    const again = await sandbox.pty.connect(terminal.pid, {
      fromOffset: 0,
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await again.sendInput("exit\n");
    await again.wait();
    expect(text.startsWith(seen)).toBe(true);
    await expect(sandbox.pty.connect(terminal.pid, { fromOffset: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(sandbox.pty.connect(terminal.pid, { fromOffset: 10 ** 9 })).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});
