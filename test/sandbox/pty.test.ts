import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InvalidArgumentError, NotFoundError } from "../../src/errors/error-classes.js";
import { type DaemonSandbox, openDaemonSandbox } from "./support/daemon-sandbox.js";

describe("terminals", () => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox();
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("PTY-01, PTY-02: the whole output is delivered before the end, in order, to a slow reader too", async () => {
    let text = "";
    const decoder = new TextDecoder();
    let isOver = false;
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      onData: async (data) => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        expect(isOver).toBe(false);
        text += decoder.decode(data, { stream: true });
      },
    });
    await terminal.sendStdin("seq 1 20000; exit\n");
    await terminal.wait();
    isOver = true;
    expect(text).toContain("\r\n20000\r\n");
  });

  it("PTY-04: sizes outside of 1 to 65535 are refused and the others are seen inside", async () => {
    for (const cols of [0, -1, 1.5, 65_536, Number.NaN]) {
      await expect(sandbox.pty.create({ cols, rows: 24 })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    const output: string[] = [];
    const terminal = await sandbox.pty.create({ cols: 81, rows: 25, onData: (data) => void output.push(new TextDecoder().decode(data)) });
    await sandbox.pty.sendInput(terminal.pid, "stty size\n");
    await expect.poll(() => output.join("")).toContain("25 81");
    await sandbox.pty.resize(terminal.pid, { cols: 65_535, rows: 1 });
    await sandbox.pty.sendInput(terminal.pid, "stty size\n");
    await expect.poll(() => output.join("")).toContain("1 65535");
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true);
    await terminal.waitForOutcome();
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false);
  });

  it("PTY-03: resizing a terminal that ended is a typed error", async () => {
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24 });
    await terminal.kill();
    await terminal.waitForOutcome();
    await expect(sandbox.pty.resize(terminal.pid, { cols: 10, rows: 10 })).rejects.toBeInstanceOf(NotFoundError);
  });

  it("PTY-05: a terminal has a UTF-8 locale by default, and given variables win", async () => {
    const envs = Object.freeze({ TERM: "dumb" });
    let text = "";
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      envs,
      onData: (data) => {
        text += new TextDecoder().decode(data);
      },
    });
    await terminal.sendStdin('echo "[$TERM $LANG $LC_ALL]"; exit\n');
    await terminal.wait();
    expect(text).toContain("[dumb C.UTF-8 C.UTF-8]");
  });
});
