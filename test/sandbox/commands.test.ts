import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CommandExitError } from "../../src/errors/command-exit-error.js";
import { AuthenticationError, InvalidArgumentError, NotFoundError, TimeoutError } from "../../src/errors/error-classes.js";
import { type DaemonSandbox, openDaemonSandbox } from "./support/daemon-sandbox.js";

describe.each([
  ["binary", true],
  ["JSON", false],
])("commands over %s", (_name, isBinary) => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox({ isBinary });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("CMD-10: output without a final newline is complete, on both streams", async () => {
    expect(await sandbox.commands.run("printf hello")).toEqual({ exitCode: 0, stdout: "hello", stderr: "" });
    expect(await sandbox.commands.run("printf a; printf b >&2")).toEqual({ exitCode: 0, stdout: "a", stderr: "b" });
  });

  it("CMD-12: blank lines and carriage returns arrive as they were printed", async () => {
    const { stdout } = await sandbox.commands.run(String.raw`printf 'a\n\nb\r\nc\rd\n\n'`);
    expect(stdout).toBe("a\n\nb\r\nc\rd\n\n");
  });

  it("CMD-01: characters that are cut at any byte are decoded whole", async () => {
    const pieces: string[] = [];
    const bytes = [...new TextEncoder().encode("é日🚀")].map((byte) => `printf '\\x${byte.toString(16)}'; sleep 0.02`);
    const { stdout } = await sandbox.commands.run(bytes.join("; "), { onStdout: (text) => void pieces.push(text) });
    expect(stdout).toBe("é日🚀");
    expect(pieces.join("")).toBe("é日🚀");
  });

  it("callbacks may give back anything, and only what can be awaited is waited for", async () => {
    const pieces: string[] = [];
    // `push` gives a number, as `process.stdout.write` gives a boolean.
    await sandbox.commands.run("echo out; echo err >&2", { onStdout: (text) => pieces.push(text), onStderr: (text) => pieces.push(text) });
    expect(pieces.sort()).toEqual(["err\n", "out\n"]);
    const bytes: Uint8Array[] = [];
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: (data) => bytes.push(data) });
    const events: unknown[] = [];
    await using _watch = await sandbox.files.watchDir(".", (event) => events.push(event), { onExit: (error) => events.push(error) });
    await sandbox.files.write("seen-by-watch", "1");
    await expect.poll(() => events.length, { timeout: 30_000 }).toBeGreaterThan(0);
    await terminal.sendInput("echo $((6 * 7)); exit\r");
    await terminal.wait().catch(() => undefined);
    expect(Buffer.concat(bytes).toString()).toContain("42");
  });

  it("CMD-14: a command that reads standard input sees its end at once", async () => {
    expect(await sandbox.commands.run("cat")).toMatchObject({ exitCode: 0, stdout: "" });
  });

  it("CMD-17: exit codes are exact and a signal is told by name", async () => {
    for (const code of [1, 137, 255]) {
      await expect(sandbox.commands.run(`exit ${code}`)).rejects.toMatchObject({ name: "CommandExitError", exitCode: code });
    }
    const killed = await sandbox.commands.run("kill -9 $$", { reject: false });
    expect(killed.exitCode).toBe(-1);
    expect(killed.error).toMatch(/signal/);
  });

  it("a failing command rejects with its whole result", async () => {
    const error = await sandbox.commands.run("echo out; echo err >&2; exit 3").catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CommandExitError);
    expect(error).toMatchObject({ exitCode: 3, stdout: "out\n", stderr: "err\n", reason: "command_exit" });
  });

  it("CMD-31: environment values are exact, undefined ones are left out and the caller's object is not changed", async () => {
    const envs = Object.freeze({ A: "1\n2", B: "x=y", C: "", D: undefined, E: "ü$`\"'" });
    const { stdout } = await sandbox.commands.run(`printf '%s|' "$A" "$B" "$C" "\${D-unset}" "$E"`, { envs });
    expect(stdout).toBe("1\n2|x=y||unset|ü$`\"'|");
    await expect(sandbox.commands.run("true", { envs: { "A=B": "1" } })).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(sandbox.commands.run("true", { envs: { "A\0": "1" } })).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("CMD-35: NUL and half surrogates are refused before anything is sent", async () => {
    for (const bad of ["a\0b", "\ud800"]) {
      await expect(sandbox.commands.run(bad)).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(sandbox.commands.run("true", { cwd: bad })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(sandbox.commands.run("true", { user: bad })).rejects.toBeInstanceOf(InvalidArgumentError);
      await expect(sandbox.commands.run("true", { envs: { A: bad } })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("CMD-19: a timeout of 0 or of 58 days does not fire early, and what is no duration is refused", async () => {
    for (const timeoutMs of [0, 5e9, 1.5e4]) expect((await sandbox.commands.run("sleep 0.1", { timeoutMs })).exitCode).toBe(0);
    for (const timeoutMs of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      await expect(sandbox.commands.run("true", { timeoutMs })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("ERR-07: the command's own timeout is a TimeoutError that says so, an abort is the caller's reason", async () => {
    const late = await sandbox.commands.run("sleep 30", { timeoutMs: 200 }).catch((e: unknown) => e);
    expect(late).toBeInstanceOf(TimeoutError);
    expect(late).toMatchObject({ timeout: "command", message: expect.stringContaining("timeoutMs (200 ms)") });
    const reason = new Error("enough");
    await expect(sandbox.commands.run("sleep 30", { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: "TimeoutError" });
    const controller = new AbortController();
    const running = sandbox.commands.run("echo started; sleep 30", { signal: controller.signal, onStdout: () => controller.abort(reason) });
    await expect(running).rejects.toBe(reason);
  });

  it("an aborted run leaves no process behind", async () => {
    const controller = new AbortController();
    const running = sandbox.commands.run("echo $$; exec sleep 4711", { signal: controller.signal, onStdout: () => controller.abort() });
    await expect(running).rejects.toMatchObject({ name: "AbortError" });
    await expect.poll(async () => (await sandbox.commands.list()).filter(({ args }) => args.join(" ").includes("4711"))).toEqual([]);
  });

  it("CMD-25: callbacks are awaited in order before the result", async () => {
    const seen: string[] = [];
    await sandbox.commands.run("for i in $(seq 5); do echo $i; sleep 0.01; done", {
      onStdout: async (text) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        seen.push(text);
      },
    });
    expect(seen.join("")).toBe("1\n2\n3\n4\n5\n");
  });

  it("CMD-26: what a callback throws is the outcome, as an Error", async () => {
    const mine = new Error("u");
    await expect(
      sandbox.commands.run("echo x", {
        onStdout: () => {
          throw mine;
        },
      }),
    ).rejects.toBe(mine);
    for (const thrown of ["str", undefined, null]) {
      const error = await sandbox.commands.run("echo x", { onStdout: () => Promise.reject(thrown) }).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(Error);
      expect((error as Error).cause ?? thrown).toBe(thrown);
    }
  });

  it("a handle takes input, ends it, and is iterated in order", async () => {
    const handle = await sandbox.commands.start("read a; echo got $a; cat; echo done >&2", { stdin: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(handle.pid);
    await handle.sendStdin("one\n");
    await handle.sendStdin(new TextEncoder().encode("two"));
    await handle.closeStdin();
    const output: string[] = [];
    for await (const piece of handle) if ("text" in piece) output.push(piece.text);
    expect(output.join("")).toBe("got one\ntwodone\n");
    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: "got one\ntwo", stderr: "done\n" });
    expect(handle.exitCode).toBe(0);
  });

  it("disconnecting leaves the process running, and connect follows it to its real end", async () => {
    const handle = await sandbox.commands.run("read x; exit 7", { background: true, stdin: true });
    await handle.disconnect();
    await expect(handle.wait()).rejects.toMatchObject({ name: "ConnectionError" });
    const again = await sandbox.commands.connect(handle.pid);
    await again.sendStdin("\n");
    await expect(again.wait()).rejects.toMatchObject({ exitCode: 7 });
    expect(await again.kill()).toBe(false);
  });

  it("CMD-21: connecting to a process that just ended tells its end at once", async () => {
    const handle = await sandbox.commands.start("exit 5");
    await handle.waitForOutcome();
    const late = await sandbox.commands.connect(handle.pid);
    expect((await late.waitForOutcome()).exitCode).toBe(5);
    await expect(sandbox.commands.connect(3_999_999)).rejects.toBeInstanceOf(NotFoundError);
  });

  it("an unknown user and a missing directory are typed errors", async () => {
    await expect(sandbox.commands.run("true", { user: "nobody-here" })).rejects.toBeInstanceOf(AuthenticationError);
    await expect(sandbox.commands.run("true", { cwd: "/no/such/dir" })).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("CMD-27: a killed command that nobody awaits causes no unhandled rejection", async () => {
    const seen: unknown[] = [];
    const record = (reason: unknown) => seen.push(reason);
    process.on("unhandledRejection", record);
    const handle = await sandbox.commands.start("sleep 60");
    expect(await handle.kill()).toBe(true);
    await expect.poll(() => handle.exitCode).toBe(-1);
    process.off("unhandledRejection", record);
    expect(seen).toEqual([]);
    await expect(handle.wait()).rejects.toBeInstanceOf(CommandExitError);
  });

  it("CMD-04: 32 MiB of output arrive exactly", async () => {
    let size = 0;
    const { stdout } = await sandbox.commands.run("yes 0123456789abcde | head -c 33554432", {
      onStdout: (text) => {
        size += text.length;
      },
    });
    expect(size).toBe(33_554_432);
    expect(stdout.length).toBe(33_554_432);
  });
});
