import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import {
  adaptSandboxProtocol,
  type BackendFactory,
  CompositeBackend,
  createDeepAgent,
  createFilesystemMiddleware,
  isSandboxBackend,
  isSandboxProtocol,
  type SandboxBackendProtocolV2,
  StateBackend,
} from "deepagents";
import { createAgent } from "langchain";
import { afterAll, beforeAll, expect, expectTypeOf, it } from "vitest";
import { createSandboxBackend, type OwnedSandboxBackend, toSandboxBackend } from "../../../src/agent/langchain/open-backend.js";
import { ThreadBackends } from "../../../src/agent/langchain/thread-backends.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";

type Call = readonly [name: string, args: Record<string, unknown>];

/** A model that makes these calls, one turn after the other, and then ends. */
function modelOf(turns: readonly (readonly Call[])[]) {
  const model = fakeModel();
  for (const calls of turns) model.respondWithTools(calls.map(([name, args]) => ({ name, args })));
  return model.respond(new AIMessage("done"));
}

const messages = [new HumanMessage("Go.")];
const answersOf = (result: { readonly messages: readonly BaseMessage[] }) => result.messages.filter(ToolMessage.isInstance);
const textOf = ({ content }: ToolMessage) =>
  typeof content === "string" ? content : content.map((block) => ("text" in block ? block.text : `<${block.type}>`)).join("\n");

describeOnPlatform("deepagents with a sandbox", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  const create = { ...connection, timeoutMs: 300_000 };
  let backend: OwnedSandboxBackend;
  beforeAll(() => {
    backend = createSandboxBackend({ create });
  });
  afterAll(() => backend.close());

  it("takes the backend for one that executes, in types and at run time", () => {
    expectTypeOf(createSandboxBackend).returns.toExtend<SandboxBackendProtocolV2>();
    expectTypeOf(toSandboxBackend).returns.toExtend<SandboxBackendProtocolV2>();
    expectTypeOf<ThreadBackends["factory"]>().toExtend<BackendFactory>();
    expect(isSandboxBackend(backend)).toBe(true);
    expect(isSandboxProtocol(backend)).toBe(true);
    expect(isSandboxBackend(adaptSandboxProtocol(backend))).toBe(true);
  });

  it("every tool of createDeepAgent works in the sandbox", async () => {
    const model = modelOf([
      [["write_file", { file_path: "/tmp/agent/a.py", content: "print('one')\n" }]],
      [["ls", { path: "/tmp/agent" }]],
      [["read_file", { file_path: "/tmp/agent/a.py" }]],
      [["edit_file", { file_path: "/tmp/agent/a.py", old_string: "one", new_string: "two" }]],
      [["grep", { pattern: "two", path: "/tmp/agent" }]],
      [["glob", { pattern: "**/*.py", path: "/tmp/agent" }]],
      [["execute", { command: "python3 /tmp/agent/a.py; echo err >&2; exit 3" }]],
      [["delete", { file_path: "/tmp/agent/a.py" }]],
      [["ls", { path: "/tmp/agent" }]],
    ]);
    const agent = createDeepAgent({ model, backend });
    const answers = answersOf(await agent.invoke({ messages }));
    expect(answers.map(textOf)).toEqual([
      "Successfully wrote to '/tmp/agent/a.py'",
      "/tmp/agent/a.py (13 bytes)",
      "@@ lines 1-1 of 1 @@\nprint('one')",
      "Successfully replaced 1 occurrence(s) in '/tmp/agent/a.py'",
      expect.stringMatching(/\/tmp\/agent\/a\.py[\s\S]*1: print\('two'\)/),
      "/tmp/agent/a.py",
      "two\nerr\n\n[Command failed with exit code 3]",
      "Deleted /tmp/agent/a.py",
      "No files found in /tmp/agent",
    ]);
    expect(answers.every(({ status }) => status !== "error")).toBe(true);
  });

  it("what a model gets wrong is an answer from which it goes on", async () => {
    await backend.write("/tmp/wrong.txt", "same same");
    const model = modelOf([
      [
        ["read_file", { file_path: "/tmp/none.txt" }],
        ["edit_file", { file_path: "/tmp/wrong.txt", old_string: "same", new_string: "other" }],
        ["grep", { pattern: "x", path: "/tmp/none" }],
        ["glob", { pattern: "{a,b}".repeat(20) }],
        ["delete", { file_path: "/tmp/none.txt" }],
        ["execute", { command: "a\0b" }],
      ],
    ]);
    const result = await createDeepAgent({ model, backend }).invoke({ messages });
    expect(result.messages.at(-1)?.content).toBe("done");
    const [read, edit, grep, glob, removed, execute] = answersOf(result).map(textOf);
    expect(read).toBe("Error: read failed: '/tmp/none.txt' not found. Use ls or glob to see what is there.");
    expect(edit).toMatch(/^edit failed: old_string is in the file multiple times: 2 times/);
    expect(grep).toMatch(/^grep failed: '\/tmp\/none' not found/);
    expect(glob).toMatch(/^Error finding files: glob failed: the braces/);
    expect(removed).toMatch(/^delete failed: '\/tmp\/none.txt' not found/);
    expect(execute).toMatch(/^execute failed: .*NUL/);
    expect(answersOf(result)[4]?.status).toBe("error");
  });

  it("images reach the model as blocks, long output as a file of the sandbox, many edits of one turn all", async () => {
    await backend.write("/tmp/dot.png", PNG);
    await backend.write("/tmp/edits.txt", "a b c");
    const model = modelOf([
      [
        ["read_file", { file_path: "/tmp/dot.png" }],
        ["execute", { command: "seq 1 100000" }],
        ...["a", "b", "c"].map(
          (letter) => ["edit_file", { file_path: "/tmp/edits.txt", old_string: letter, new_string: letter + letter }] as const,
        ),
      ],
    ]);
    const [image, long] = answersOf(await createDeepAgent({ model, backend }).invoke({ messages }));
    expect(image?.content).toEqual([{ type: "image", mimeType: "image/png", data: PNG }]);
    const [, path = ""] = /(\/large_tool_results\/\S+\.txt)/.exec(long === undefined ? "" : textOf(long)) ?? [];
    expect((await backend.execute(`wc -l < ${path}`)).output.trim()).toMatch(/^10000\d$/);
    expect((await backend.read("/tmp/edits.txt")).content).toBe("aa bb cc");
  });

  it("memory and skills are read from the sandbox", async () => {
    await backend.write("/tmp/memory/AGENTS.md", "Remember the blue door.");
    await backend.write("/tmp/skills/paint/SKILL.md", "---\nname: paint\ndescription: Paints a door.\n---\nUse blue.");
    const model = modelOf([]);
    await createDeepAgent({ model, backend, memory: ["/tmp/memory/AGENTS.md", "/tmp/none.md"], skills: ["/tmp/skills/"] }).invoke({
      messages,
    });
    const prompt = JSON.stringify(model.calls[0]?.messages[0]?.content);
    expect(prompt).toContain("Remember the blue door.");
    expect(prompt).toContain("Paints a door.");
  });

  it("works behind a composite backend, and in the file system middleware of createAgent", async () => {
    const composite = new CompositeBackend(backend, { "/notes/": new StateBackend() });
    const model = modelOf([
      [
        ["write_file", { file_path: "/tmp/composite/a.txt", content: "needle" }],
        ["write_file", { file_path: "/notes/b.txt", content: "needle" }],
      ],
      [["grep", { pattern: "needle", path: "/tmp/composite" }]],
      [["glob", { pattern: "*.txt", path: "/tmp/composite" }]],
      [["execute", { command: "cat /tmp/composite/a.txt; ls /notes" }]],
    ]);
    const agent = createAgent({ model, middleware: [createFilesystemMiddleware({ backend: composite })] });
    const [, , grep, glob, execute] = answersOf(await agent.invoke({ messages })).map(textOf);
    expect(grep).toContain("/tmp/composite/a.txt");
    expect(glob).toBe("/tmp/composite/a.txt");
    expect(execute).toMatch(/^needle.*No such file/);
  });

  it("an abort of the run ends it with its reason, and kills the command", async () => {
    const controller = new AbortController();
    const model = modelOf([[["execute", { command: "echo started > /tmp/started; sleep 987" }]]]);
    const running = createDeepAgent({ model, backend }).invoke({ messages }, { signal: controller.signal });
    const settled = expect(running).rejects.toThrow(/abort/i);
    await expect.poll(async () => (await backend.read("/tmp/started")).content, { timeout: 30_000 }).toBe("started\n");
    controller.abort();
    await settled;
    await expect.poll(async () => (await backend.execute("pgrep -fc '[s]leep 987'")).output.trim(), { timeout: 30_000 }).toBe("0");
  });

  it("a factory gives each conversation a sandbox of its own, its subagents included", async () => {
    await using backends = new ThreadBackends({ create });
    const write: Call = ["write_file", { file_path: "/tmp/mine.txt", content: "mine" }];
    const read: Call = ["read_file", { file_path: "/tmp/mine.txt" }];
    const task: Call = ["task", { description: "Read the file.", subagent_type: "general-purpose" }];
    const run = async (threadId: string | undefined, turns: readonly (readonly Call[])[]) => {
      const model = modelOf(turns).respond(new AIMessage("done"));
      const config = threadId === undefined ? {} : { configurable: { thread_id: threadId } };
      const result = await createDeepAgent({ model, backend: backends.factory }).invoke({ messages }, config);
      return { model, answers: answersOf(result).map(textOf) };
    };
    expect((await run("one", [[write], [read]])).answers[1]).toContain("mine");
    expect((await run("two", [[read]])).answers[0]).toContain("not found");
    // The second turn is the subagent's.
    const { model } = await run("one", [[task], [read]]);
    expect(JSON.stringify(model.calls.flatMap((call) => call.messages))).toContain("@@ lines 1-1 of 1 @@");
    expect(backends.get("one").sandboxId).not.toBe(backends.get("two").sandboxId);
    await expect(run(undefined, [[read]])).rejects.toThrow(/no thread_id/);
  });

  it("a factory serves also where deepagents gives it no config: a long message goes into the sandbox of its conversation", async () => {
    await using backends = new ThreadBackends({ create });
    const agent = createDeepAgent({ model: modelOf([]), backend: backends.factory });
    await agent.invoke({ messages: [new HumanMessage("long ".repeat(50_000))] }, { configurable: { thread_id: "long" } });
    const { files = [] } = await backends.get("long").ls("/conversation_history");
    expect(files).toMatchObject([{ size: 250_000 }]);
  });

  it("a borrowed sandbox is shared with the program", async () => {
    await using sandbox = await Sandbox.create(create);
    await sandbox.files.write("/tmp/given.txt", "given");
    const model = modelOf([[["execute", { command: "cat /tmp/given.txt" }]]]);
    const [answer] = answersOf(await createDeepAgent({ model, backend: toSandboxBackend(sandbox) }).invoke({ messages }));
    expect(answer && textOf(answer)).toBe("given\n[Command succeeded with exit code 0]");
    expect(await sandbox.isRunning()).toBe(true);
  });
});
