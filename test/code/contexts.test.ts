import { expect, it } from "vitest";
import { describeCode } from "./support/code-suite.js";

describeCode("contexts", (suite) => {
  it("COD-03: each keeps its own state, also when all run at once", async () => {
    const { code } = suite.sandbox;
    const count = 12;
    const contexts = await Promise.all(
      Array.from({ length: count }, (_, index) => code.createContext({ language: index % 3 === 2 ? "bash" : "python" })),
    );
    const set = (index: number, value: number) => code.run(index % 3 === 2 ? `x=${value}` : `x = ${value}`, { context: contexts[index] });
    for (const offset of [0, 100]) {
      await Promise.all(contexts.map((_, index) => set(index, index + offset)));
      const read = contexts.map((context, index) => code.run(index % 3 === 2 ? "echo $x" : "print(x)", { context }));
      expect((await Promise.all(read)).map(({ stdout }) => Number(stdout))).toEqual(contexts.map((_, index) => index + offset));
    }
    expect((await code.run("'x' in globals()")).text).toBe("False");
    await Promise.all(contexts.map((context) => code.removeContext(context)));
  });

  it("COD-03: executions of one context run one after the other, those of two at the same time", async () => {
    const { code } = suite.sandbox;
    const [one, two] = await Promise.all([code.createContext(), code.createContext()]);
    await code.run("import time\nseen = []", { context: one });
    // Requests on connections of their own arrive in any order; none begins before another is done.
    const step = (index: number) => `seen.append(${index}); time.sleep(0.01); seen.append(${index})`;
    await Promise.all([0, 1, 2, 3, 4].map((index) => code.run(step(index), { context: one })));
    const seen = (await code.run("seen", { context: one })).results[0]?.json as readonly number[]; // what `step` makes
    expect([...seen].sort()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
    for (let at = 0; at < seen.length; at += 2) expect(seen[at]).toBe(seen[at + 1]);
    // Each waits for what only the other one does.
    const meet = (mine: string, other: string) =>
      `import os, time\nopen('/tmp/${mine}', 'w')\nwhile not os.path.exists('/tmp/${other}'): time.sleep(0.01)`;
    const met = await Promise.all([code.run(meet("a", "b"), { context: one }), code.run(meet("b", "a"), { context: two })]);
    expect(met.map(({ error }) => error)).toEqual([undefined, undefined]);
    await Promise.all([code.removeContext(one), code.removeContext(two)]);
  });

  it("are listed in the order of their creation, with those of Python and JavaScript first", async () => {
    const { code } = suite.sandbox;
    const made = await code.createContext({ cwd: "/tmp" });
    const listed = await code.listContexts();
    expect(listed.slice(0, 2).map(({ language }) => language)).toEqual(["python", "javascript"]);
    expect(listed.at(-1)).toEqual({ id: made.id, language: "python", cwd: "/tmp" });
    await code.removeContext(made);
    expect((await code.listContexts()).map(({ id }) => id)).not.toContain(made.id);
  });

  it("a restart loses the state and ends what runs; a removed one is not found", async () => {
    const { code } = suite.sandbox;
    const context = await code.createContext();
    await code.run("x = 1", { context });
    let started: () => void = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const running = code.run("print('on', flush=True)\nimport time\ntime.sleep(60)", { context, onStdout: () => started() });
    await begun;
    await code.restartContext(context);
    expect((await running).error).toMatchObject({ name: "ContextRestarting" });
    expect((await code.run("x", { context })).error).toMatchObject({ name: "NameError" });
    await code.removeContext(context);
    for (const call of [code.run("1", { context }), code.restartContext(context), code.removeContext(context.id)]) {
      await expect(call).rejects.toMatchObject({
        name: "NotFoundError",
        message: expect.stringContaining(`Context ${context.id} not found`) as string,
      });
    }
  });

  it("code that waits for a kernel which is restarted meanwhile runs in the new one", async () => {
    const { code } = suite.sandbox;
    const context = await code.createContext();
    const [, run] = await Promise.all([code.restartContext(context), code.run("6 * 7", { context })]);
    const [, , again] = await Promise.all([code.restartContext(context), code.restartContext(context), code.run("6 * 7", { context })]);
    // The restart may also find the code running, and then says so.
    for (const { text, error } of [run, again]) expect(error?.name ?? text).toMatch(/^(42|ContextRestarting)$/);
    expect((await code.run("6 * 7", { context })).text).toBe("42");
    await code.removeContext(context);
  });

  it("the state of a kernel survives a pause of the sandbox", async () => {
    const { sandbox } = suite;
    await sandbox.runCode("survives = 'yes'");
    await sandbox.pause();
    await sandbox.connect();
    expect((await sandbox.runCode("survives")).text).toBe("yes");
  });

  it.each([
    ["python", "import os; print(os.getcwd())"],
    ["py", "import os; print(os.getcwd())"],
    ["js", "console.log(process.cwd())"],
    ["ts", "console.log(process.cwd() as string)"],
    ["sh", "pwd"],
  ])("COD-08: a context of %s runs in its directory, whatever its name is", async (language, print) => {
    const { code, files } = suite.sandbox;
    await files.makeDir("/home/user/my dir's");
    const context = await code.createContext({ language, cwd: "my dir's" });
    expect(context.cwd).toBe("/home/user/my dir's");
    expect((await code.run(print, { context })).stdout).toBe("/home/user/my dir's\n");
    await code.removeContext(context);
  });

  it("COD-08: a directory that is missing is an error of the creation", async () => {
    await expect(suite.sandbox.code.createContext({ cwd: "/nowhere" })).rejects.toMatchObject({
      name: "InvalidArgumentError",
      message: expect.stringContaining("/nowhere") as string,
    });
  });

  it("language and context exclude each other", async () => {
    const [context] = await suite.sandbox.code.listContexts();
    await expect(suite.sandbox.runCode("1", { language: "python", context })).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });
});
