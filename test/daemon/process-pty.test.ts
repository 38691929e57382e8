import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { asUser, bash, collect, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeAll(async () => {
  sandbox = await startTestDaemon();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const byPid = (pid: number) => ({ selector: { case: "pid" as const, value: pid } });
const keys = (text: string) => ({ input: { case: "pty" as const, value: Buffer.from(text) } });
const size = (cols: number, rows: number) => ({ size: { cols, rows } });

async function codeOf(promise: Promise<unknown>): Promise<Code> {
  return promise.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => ConnectError.from(error).code,
  );
}

/** Run a command on a terminal to its end. */
const run = (command: string, options: object = {}, headers: Record<string, string> = {}) =>
  collect(sandbox.process.start({ process: { ...bash(command), ...options }, pty: size(80, 24) }, { headers }));

describe("terminals", () => {
  it("PTY-01: never lose the tail of the output", async () => {
    for (let round = 0; round < 25; round += 1) {
      const result = await run("seq 1 20000; exit");
      expect(result.pty.toString().endsWith("20000\r\n")).toBe(true);
      expect(result.events.at(-1)).toBe("end");
    }
  });

  it("PTY-02: send nothing after the end to a slow reader, and drop nothing", async () => {
    const result = await collect(sandbox.process.start({ process: bash("seq 1 20000"), pty: size(80, 24) }), async ({ event }) => {
      if (event.case === "data") await new Promise((resolve) => setTimeout(resolve, 5));
    });
    expect(result.pty.toString().split("\r\n")).toHaveLength(20_001);
    expect(result.events.indexOf("end")).toBe(result.events.length - 1);
  });

  it("are the controlling terminal of their program, with the asked size", async () => {
    const result = await run("stty size; echo from-tty > /dev/tty; tty");
    expect(result.pty.toString()).toMatch(/^24 80\r\nfrom-tty\r\n\/dev\/pts\/\d+\r\n$/);
  });

  it("report the exit status and the signal", async () => {
    expect(await run("exit 9")).toMatchObject({ exitCode: 9, status: "exit status 9" });
    expect(await run("kill -9 $$")).toMatchObject({ exitCode: -1, status: "signal: killed" });
  });

  it("PTY-12: see the variables of the sandbox, which those of the terminal override, and cwd and user", async () => {
    sandbox.daemon.state.apply({ envVars: { A: "1", B: "1" } });
    const result = await run("echo $A $B; pwd; id -un; echo $HOME", { envs: { B: "2" }, cwd: "/tmp" }, asUser("nobody"));
    expect(result.pty.toString()).toBe("1 2\r\n/tmp\r\nnobody\r\n/nonexistent\r\n");
  });

  it("take typed input, refuse stdin, and know no CloseStdin", async () => {
    let pid = 0;
    const result = await collect(sandbox.process.start({ process: { cmd: "cat" }, pty: size(80, 24) }), async ({ event }) => {
      if (event.case !== "start") return;
      pid = event.value.pid;
      expect(
        await codeOf(sandbox.process.sendInput({ process: byPid(pid), input: { input: { case: "stdin", value: Buffer.from("x") } } })),
      ).toBe(Code.Internal);
      expect(await codeOf(sandbox.process.closeStdin({ process: byPid(pid) }))).toBe(Code.Unknown);
      await sandbox.process.sendInput({ process: byPid(pid), input: keys("typed\n\x04") });
    });
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.pty.toString()).toContain("typed\r\n");
  });

  it("end when they are killed, and are listed until then", async () => {
    const result = await collect(sandbox.process.start({ process: { cmd: "/bin/bash", args: ["-i"] }, pty: {} }), async ({ event }) => {
      if (event.case !== "start") return;
      expect((await sandbox.process.list({})).processes.map(({ pid }) => pid)).toContain(event.value.pid);
      await sandbox.process.sendSignal({ process: byPid(event.value.pid), signal: 9 });
    });
    expect(result).toMatchObject({ exitCode: -1, status: "signal: killed" });
  });

  it("hang up what runs in the background when the shell ends", async () => {
    const result = await run("sleep 60 & exit 3");
    expect(result).toMatchObject({ exitCode: 3 });
  });
});

describe("sizes", () => {
  it.each([
    [0, 0],
    [0, 24],
    [80, 0],
    [65_536, 24],
    [80, 65_536],
  ])("PTY-04: refuse %ix%i on create and on resize", async (cols, rows) => {
    expect(await codeOf(collect(sandbox.process.start({ process: bash("true"), pty: size(cols, rows) })))).toBe(Code.InvalidArgument);
    const result = await collect(sandbox.process.start({ process: { cmd: "cat" }, pty: size(80, 24) }), async ({ event }) => {
      if (event.case !== "start") return;
      const process = byPid(event.value.pid);
      expect(await codeOf(sandbox.process.update({ process, pty: size(cols, rows) }))).toBe(Code.InvalidArgument);
      await sandbox.process.sendInput({ process, input: keys("\x04") });
    });
    expect(result.exitCode).toBe(0);
  });

  it.each([
    [1, 1],
    [65_535, 65_535],
    [132, 43],
  ])("PTY-04: show %ix%i to the program", async (cols, rows) => {
    const created = await collect(sandbox.process.start({ process: bash("stty size"), pty: size(cols, rows) }));
    expect(created.pty.toString().replaceAll(/\s+/g, " ").trim()).toBe(`${rows} ${cols}`);
    const resized = await collect(sandbox.process.start({ process: bash("read -r; stty size"), pty: size(80, 24) }), async ({ event }) => {
      if (event.case !== "start") return;
      const process = byPid(event.value.pid);
      await sandbox.process.update({ process, pty: size(cols, rows) });
      await sandbox.process.sendInput({ process, input: keys("\n") });
    });
    expect(resized.pty.toString().replaceAll(/\s+/g, " ")).toContain(`${rows} ${cols}`);
  });

  it("PTY-03: of a terminal that ended are not_found, and harmless while it ends", async () => {
    for (let round = 0; round < 30; round += 1) {
      let pid = 0;
      await collect(sandbox.process.start({ process: bash("exit"), pty: size(80, 24) }), async ({ event }) => {
        if (event.case !== "start") return;
        pid = event.value.pid;
        const failure = await sandbox.process
          .update({ process: byPid(pid), pty: size(90, 30) })
          .catch((error: unknown) => ConnectError.from(error).code);
        expect([Code.NotFound, expect.anything()]).toContainEqual(failure);
      });
      expect(await codeOf(sandbox.process.update({ process: byPid(pid), pty: size(90, 30) }))).toBe(Code.NotFound);
    }
  });

  it("need a terminal; an update without one changes nothing", async () => {
    await collect(sandbox.process.start({ process: { cmd: "cat" } }), async ({ event }) => {
      if (event.case !== "start") return;
      const process = byPid(event.value.pid);
      expect(await codeOf(sandbox.process.update({ process, pty: size(80, 24) }))).toBe(Code.Internal);
      await sandbox.process.update({ process });
      await sandbox.process.closeStdin({ process });
    });
  });
});
