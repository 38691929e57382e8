import { afterAll, beforeAll, expect, it } from "vitest";
import { SandboxSession } from "../../src/agent/sandbox-session.js";
import { createTools } from "../../src/agent/sandbox-toolset.js";
import { findTool, type Tool, type ToolCallOptions, type ToolResult } from "../../src/agent/tool.js";
import { connection, describeCode } from "../code/support/code-suite.js";

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("\n");
const FIGURE = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()";

describeCode("run_code where there are kernels", (suite) => {
  let session: SandboxSession;
  let tools: Tool[];
  beforeAll(() => {
    session = new SandboxSession({ sandbox: suite.sandbox, create: connection(suite.platform) });
    tools = createTools(session, { maxTextLength: 2_000 });
  });
  afterAll(() => session.close());
  const run = (code: string, input: object = {}, options: ToolCallOptions = {}) =>
    findTool(tools, "run_code").execute({ code, ...input }, options);

  it("keeps variables for each language, and shows the value of the last expression", async () => {
    await run("x = 20");
    await run("globalThis.x = 1", { language: "javascript" });
    await run("x=three", { language: "bash" });
    const python = await run("print('seen'); x + 1");
    expect(python.isError).toBe(false);
    expect(textOf(python)).toMatch(/^kernel: python, execution \d+\nstdout:\nseen\nresult:\n21$/);
    expect(textOf(await run("x", { language: "javascript" }))).toMatch(/^kernel: javascript.*\nresult:\n1$/);
    expect(textOf(await run("echo $x", { language: "bash" }))).toMatch(/^kernel: bash.*\nstdout:\nthree$/);
    expect(textOf(await run("const n: number = 4; n", { language: "typescript" }))).toMatch(/^kernel: typescript.*\nresult:\n4$/);
    expect(textOf(await run("y = 1"))).toMatch(/^kernel: python.*\nIt showed nothing\.$/);
  });

  it("works in the directory of the file tools", async () => {
    await findTool(tools, "write_file").execute({ path: "helper_module.py", content: "def twice(n): return 2 * n" });
    expect(textOf(await run("import os, helper_module; print(helper_module.twice(21), os.getcwd())"))).toContain("42 /home/user");
  });

  it("gives figures as images and tables as text", async () => {
    const figure = await run(FIGURE);
    expect(figure.content.map(({ type }) => type)).toEqual(["text", "image"]);
    expect(figure.content[1]).toMatchObject({ mimeType: "image/png", data: expect.stringMatching(/^iVBOR[\w+/]+={0,2}$/) as string });
    expect(textOf(await run("import pandas as pd; pd.DataFrame({'city': ['Bonn'], 'n': [7]})"))).toMatch(
      /result:\n.*city\s+n\n0\s+Bonn\s+7/,
    );
  });

  it("takes nothing for an image because the guest says that it is one, and keeps to a number of them", async () => {
    const fake = "from IPython.display import display\ndisplay({'image/png': 'PHNjcmlwdD4x', 'text/plain': 'told'}, raw=True)";
    expect((await run(fake)).content).toEqual([{ type: "text", text: expect.stringContaining("result:\ntold") as string }]);
    const many = await run(`${FIGURE.replace("plt.show()", "fig = plt.gcf()\nplt.close()\nfor n in range(12): display(fig)")}`);
    expect(many.content.filter(({ type }) => type === "image")).toHaveLength(10);
    expect(textOf(many)).toContain("an image that has no room in this answer");
  });

  it("an exception and a status are errors, with what was printed before", async () => {
    const failed = await run("print('before')\nraise ValueError('no')");
    expect(failed.isError).toBe(true);
    expect(textOf(failed)).toMatch(/stdout:\nbefore\nerror:\n[\s\S]*ValueError: no$/);
    expect(await run("exit_code() { return 3; }; exit_code", { language: "bash" })).toMatchObject({ isError: true });
    expect(textOf(await run("exit 3", { language: "bash" }))).toMatch(/error:\n/);
  });

  it("COD-10: what takes too long is interrupted, with what was printed before, and variables stay", async () => {
    await run("kept = 'still here'");
    const slow = await run("import time\nprint('started', flush=True)\ntime.sleep(60)", { timeout_ms: 2_000 });
    expect(slow.isError).toBe(true);
    expect(textOf(slow)).toMatch(/interrupted after 2000 ms[\s\S]*timeout_ms[\s\S]*stdout:\nstarted$/);
    expect(textOf(await run("kept"))).toContain("result:\nstill here");
  });

  it("COD-04: an abort rejects with its reason, interrupts the code, and variables stay", async () => {
    await run("kept = 'after an abort'");
    const controller = new AbortController();
    const onProgress = (message: string) => void (message === "started" && controller.abort(new Error("enough")));
    const running = run("import time\nprint('started', flush=True)\ntime.sleep(600)", {}, { signal: controller.signal, onProgress });
    await expect(running).rejects.toThrow("enough");
    expect(textOf(await run("kept"))).toContain("result:\nafter an abort");
  });

  it("output and results without end are bounded", async () => {
    const long = textOf(await run("for n in range(100000): print(n)"));
    expect(long.length).toBeLessThan(2_400);
    expect(long).toMatch(/stdout:\n0\n1\n[\s\S]*left out[\s\S]*99998\n99999$/);
    expect(textOf(await run("'é' * 100000")).length).toBeLessThan(2_400);
    const flood = await run("from IPython.display import display\nwhile True: display('x' * 1_000_000)");
    expect(flood.isError).toBe(true);
    expect(textOf(flood)).toMatch(/^run_code failed: the code was interrupted because it displays more than/);
    expect((await run("1")).isError).toBe(false);
  });

  it("calls at the same time run one after the other", async () => {
    await run("steps = []");
    const calls = Array.from({ length: 4 }, (_, n) => run(`import time; time.sleep(0.2); steps.append(${n}); print(steps)`));
    // Requests on connections of their own arrive in any order; each sees what the ones before it did, whole.
    const seen = (await Promise.all(calls)).map((answer, n) => ({
      n,
      steps: /stdout:\n\[([\d, ]+)\]/.exec(textOf(answer))?.[1]?.split(", ").map(Number) ?? [],
    }));
    const all = seen.find(({ steps }) => steps.length === 4)?.steps ?? [];
    expect([...all].sort()).toEqual([0, 1, 2, 3]);
    for (const { n, steps } of seen) expect(steps).toEqual(all.slice(0, all.indexOf(n) + 1));
  });

  it("text of several bytes per character is whole, also where output is cut", async () => {
    const text = textOf(await run("print('数据🙂' * 5_000)"));
    expect(text).not.toContain("\ufffd");
    expect(text).toMatch(/数据🙂[\s\S]*left out[\s\S]*数据🙂$/u);
  });

  it("a sandbox that ends in the middle is told", async () => {
    await using own = new SandboxSession({
      create: { ...connection(suite.platform), template: "code-interpreter-v1", timeoutMs: 120_000 },
    });
    const runCode = findTool(createTools(own), "run_code");
    const sandbox = await own.create();
    const onProgress = (message: string) => void (message === "started" && sandbox.kill().catch(() => undefined));
    const ended = await runCode.execute({ code: "import time\nprint('started', flush=True)\ntime.sleep(60)" }, { onProgress });
    expect(ended.isError).toBe(true);
    expect(textOf(ended)).toMatch(/^run_code failed: .*ended/);
    expect(own.sandboxIds).toEqual([]);
  });

  it("COD-05: a kernel that dies says how, and the next call has a new one", async () => {
    await run("x = 1");
    const died = await run("import os; os._exit(7)");
    expect(died.isError).toBe(true);
    expect(textOf(died)).toContain("error:\n");
    expect(textOf(await run("'x' in globals()"))).toContain("result:\nFalse");
  });

  it("runs a program of its own where a sandbox has no kernels, and says that by its exit code", async () => {
    await using own = new SandboxSession({ create: { ...connection(suite.platform), template: "base" } });
    const runCode = findTool(createTools(own), "run_code");
    expect(runCode.description).toMatch(/`kernel`[\s\S]*`exit code`[\s\S]*code-interpreter-v1/);
    expect(textOf(await runCode.execute({ code: "x = 1; print(x)" }))).toBe("exit code: 0\nstdout:\n1");
    expect(textOf(await runCode.execute({ code: "print(x)" }))).toMatch(/^exit code: 1[\s\S]*NameError/);
  });
});
