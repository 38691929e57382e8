import { expect, it } from "vitest";
import { describeCode } from "./support/code-suite.js";

const FOREVER: Readonly<Record<string, string>> = {
  python: "print('on', flush=True)\nimport time\ntime.sleep(60)",
  javascript: "console.log('on'); while (true) {}",
  typescript: "console.log('on'); await new Promise<void>(() => {})",
  bash: "echo on; sleep 60; echo never",
};
const KEEP: Readonly<Record<string, readonly [set: string, get: string]>> = {
  python: ["kept = 1", "print(kept)"],
  javascript: ["const kept = 1", "console.log(kept)"],
  typescript: ["const kept: number = 1", "console.log(kept)"],
  bash: ["kept=1", "echo $kept"],
};

describeCode("interrupts", (suite) => {
  it.each(Object.keys(FOREVER))("COD-04: a caller that leaves stops its %s code, and the state stays", async (language) => {
    const [set = "", get = ""] = KEEP[language] ?? [];
    await suite.sandbox.runCode(set, { language });
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    const run = suite.sandbox.runCode(FOREVER[language] ?? "", { language, signal: abort.signal, onStdout: () => abort.abort(reason) });
    await expect(run).rejects.toBe(reason);
    const next = await suite.sandbox.runCode(get, { language, requestTimeoutMs: 10_000 });
    expect(next).toMatchObject({ stdout: "1\n", error: undefined });
  });

  it("COD-04: code that does not let itself be interrupted is ended with its kernel, and the next execution is told", async () => {
    const context = await suite.sandbox.code.createContext();
    const stubborn = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('on', flush=True)\ntime.sleep(60)";
    const abort = new AbortController();
    const reason = new Error("no longer wanted");
    const run = suite.sandbox.runCode(stubborn, { context, signal: abort.signal, onStdout: () => abort.abort(reason) });
    await expect(run).rejects.toBe(reason);
    const next = await suite.sandbox.runCode("1 + 1", { context });
    expect(next.text).toBe("2");
    expect(next.stderr).toContain("variables are lost");
    await suite.sandbox.code.removeContext(context);
  });

  it("COD-10: the timeout interrupts the code and says which one it was", async () => {
    await suite.sandbox.runCode("before = 1");
    await expect(suite.sandbox.runCode("import time; time.sleep(30)", { timeoutMs: 300 })).rejects.toMatchObject({
      name: "TimeoutError",
      timeout: "command",
      message: expect.stringContaining("timeoutMs (300 ms)") as string,
    });
    expect((await suite.sandbox.runCode("before")).text).toBe("1");
  });

  it("COD-10: 0 is no limit, and the request timeout ends with the begin of the execution", async () => {
    const run = await suite.sandbox.runCode("import time; time.sleep(0.6); 1", { timeoutMs: 0, requestTimeoutMs: 400 });
    expect(run.text).toBe("1");
  });

  it("COD-10: an execution that does not get its turn is a request that timed out, and never runs", async () => {
    const context = await suite.sandbox.code.createContext();
    await suite.sandbox.runCode("ran = []", { context });
    const abort = new AbortController();
    let started: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const first = suite.sandbox.runCode("print(1, flush=True)\nimport time\ntime.sleep(60)", {
      context,
      signal: abort.signal,
      onStdout: () => started(),
    });
    await begun;
    await expect(suite.sandbox.runCode("ran.append(1)", { context, requestTimeoutMs: 200 })).rejects.toMatchObject({
      name: "TimeoutError",
      timeout: "request",
    });
    abort.abort();
    await expect(first).rejects.toBe(abort.signal.reason);
    expect((await suite.sandbox.runCode("ran", { context })).results[0]?.json).toEqual([]);
    await suite.sandbox.code.removeContext(context);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY])("COD-10: a timeout of %s is refused before anything is sent", async (timeoutMs) => {
    await expect(suite.sandbox.runCode("1", { timeoutMs })).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });
});
