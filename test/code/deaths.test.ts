import { expect, it } from "vitest";
import { describeCode } from "./support/code-suite.js";

describeCode("ends of kernels and of code", (suite) => {
  it.each([
    ["os._exit", "import os; os._exit(1)", /ended with status 1/],
    ["a segmentation fault", "import ctypes; ctypes.string_at(0)", /SIGSEGV/],
    ["kill -9", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", /SIGKILL/],
    ["exit()", "exit()", /asked the kernel to exit/],
    ["no more memory", "x = []\nwhile True: x.append(bytearray(16 * 2**20))", /SIGKILL.*out of memory|MemoryError/],
  ])("COD-05: %s is an error that names it, and the next call finds a new kernel", async (_, code, cause) => {
    await suite.sandbox.runCode("lost = 1");
    const { error } = await suite.sandbox.runCode(code);
    expect(`${error?.name}: ${error?.value}`).toMatch(cause);
    expect((await suite.sandbox.runCode("'lost' in globals()")).text).toMatch(/False|True/);
    expect((await suite.sandbox.runCode("1 + 1")).text).toBe("2");
  });

  it.each([
    ["javascript", "process.exit(4)", /status 4/],
    ["javascript", "process.kill(process.pid, 'SIGKILL')", /SIGKILL/],
    ["bash", "exit 3", /status 3/],
    ["bash", "kill -9 $$", /SIGKILL/],
  ])("COD-05: in %s, %s is an error that names it, and the next call works", async (language, code, cause) => {
    const { error } = await suite.sandbox.runCode(code, { language });
    expect(error).toMatchObject({ name: "UnexpectedEndOfExecution", value: expect.stringMatching(cause) as string });
    const next = await suite.sandbox.runCode(language === "bash" ? "echo 2" : "console.log(2)", { language });
    expect(next).toMatchObject({ stdout: "2\n", error: undefined });
  });

  it("COD-05: all kernels come back after the program that runs them was killed", async () => {
    await suite.sandbox.runCode("1", { language: "bash" });
    let started: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const running = suite.sandbox.runCode("print(1, flush=True)\nimport time\ntime.sleep(60)", { onStdout: () => started() });
    await begun;
    await suite.sandbox.commands.run("sudo pkill -9 -f '[b]ridge.py'", { reject: false });
    expect((await running).error).toMatchObject({ name: "UnexpectedEndOfExecution", value: expect.stringContaining("SIGKILL") as string });
    expect((await suite.sandbox.runCode("1 + 1")).text).toBe("2");
    expect((await suite.sandbox.runCode("echo 2", { language: "bash" })).stdout).toBe("2\n");
  });

  it.each([
    ["input()", "StdinNotImplementedError", /input/],
    ["import sys; sys.exit(3)", "SystemExit", /3/],
    ["raise SystemExit", "SystemExit", /^/],
    ["raise KeyboardInterrupt('mine')", "KeyboardInterrupt", /mine/],
    ["def f(): f()\nf()", "RecursionError", /recursion/],
    ["raise 5", "TypeError", /exceptions must derive/],
    ["x = = 1", "SyntaxError", /invalid syntax/],
  ])("COD-15: %s is an error with name, value and traceback", async (code, name, value) => {
    const { error } = await suite.sandbox.runCode(code);
    expect(error).toMatchObject({ name, value: expect.stringMatching(value) as string });
    expect(error?.traceback).toContain(name);
  });

  it("COD-15: standard input is at its end in Bash", async () => {
    expect((await suite.sandbox.runCode("read x || echo nothing", { language: "bash" })).stdout).toBe("nothing\n");
  });

  it("COD-15: endless output ends with the timeout, and nobody's memory grows with it", async () => {
    let bytes = 0;
    const before = process.memoryUsage().rss;
    const run = suite.sandbox.runCode("while True: print('x' * 1000)", {
      timeoutMs: 2_000,
      maxOutputBytes: 1_000_000,
      onStdout: ({ text }) => {
        bytes += text.length;
      },
    });
    await expect(run).rejects.toMatchObject({ name: "TimeoutError", timeout: "command" });
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
    expect((await suite.sandbox.runCode("1 + 1")).text).toBe("2");
  });
});
