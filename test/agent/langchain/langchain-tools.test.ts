import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { isLangChainTool, isStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { createAgent } from "langchain";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { type LangChainTool, toLangChainTools } from "../../../src/agent/langchain/langchain-tools.js";
import { SandboxSession } from "../../../src/agent/sandbox-session.js";
import { createTools } from "../../../src/agent/sandbox-toolset.js";
import { defineTool, type Tool } from "../../../src/agent/tool.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";

const messages = [new HumanMessage("Go.")];
const callOf = (name: string, args: Record<string, unknown>) => ({ type: "tool_call" as const, id: "call-1", name, args });

function echo(isError: boolean): Tool {
  return defineTool({
    name: "echo",
    description: "Say it again.",
    parameters: {
      text: { type: "string", isRequired: true, description: "What." },
      count: { type: "integer", minimum: 1, maximum: 3, description: "Times." },
    },
    run: async ({ text }) => ({
      content: [
        { type: "text", text },
        { type: "image", data: PNG, mimeType: "image/png" },
      ],
      isError,
    }),
  });
}

describe("tools as LangChain takes them", () => {
  it("are structured tools whose schema a provider gets as it is", () => {
    const tools = createTools(new SandboxSession());
    const converted = toLangChainTools(tools);
    expectTypeOf<LangChainTool>().toExtend<StructuredToolInterface>();
    expect(converted.every((tool) => isLangChainTool(tool) && isStructuredTool(tool))).toBe(true);
    expect(converted.map((tool) => convertToOpenAITool(tool))).toEqual(
      tools.map(({ name, description, inputSchema }) => ({ type: "function", function: { name, description, parameters: inputSchema } })),
    );
  });

  it("give text as text, images as blocks, and a failure as a message of the status error", async () => {
    const blocks = [
      { type: "text", text: "hi" },
      { type: "image", mimeType: "image/png", data: PNG },
    ];
    const [good, bad] = [false, true].map((isError) => toLangChainTools([echo(isError)])[0]);
    expect(await good?.invoke({ text: "hi" })).toEqual(blocks);
    expect(await good?.invoke(callOf("echo", { text: "hi" }))).toMatchObject({
      status: "success",
      content: blocks,
      tool_call_id: "call-1",
      name: "echo",
    });
    const failed = await bad?.invoke(callOf("echo", { text: "hi" }));
    expect(ToolMessage.isInstance(failed)).toBe(true);
    expect(failed).toMatchObject({ status: "error", content: blocks, tool_call_id: "call-1", name: "echo" });
  });

  it("name the member that does not fit the schema", async () => {
    const [tool] = toLangChainTools([echo(false)]);
    await expect(tool?.invoke(callOf("echo", { text: "hi", count: 7 }))).rejects.toThrow(/properties\/count/);
    await expect(tool?.invoke(callOf("echo", {}))).rejects.toThrow(/text/);
  });
});

describeOnPlatform("an agent of LangChain with the tools", ({ apiUrl, sandboxUrl, apiKey }) => {
  let session: SandboxSession;
  let tools: LangChainTool[];
  beforeAll(() => {
    session = new SandboxSession({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 300_000 } });
    tools = toLangChainTools(createTools(session));
  });
  afterAll(() => session.close());

  const run = async (calls: readonly { readonly name: string; readonly args: Record<string, unknown> }[], signal?: AbortSignal) => {
    const model = fakeModel();
    for (const call of calls) model.respondWithTools([call]);
    model.respond(new AIMessage("done"));
    const result = await createAgent({ model, tools }).invoke({ messages }, signal && { signal });
    return result.messages.filter(ToolMessage.isInstance);
  };

  it("writes, runs and reads in the sandbox", async () => {
    const answers = await run([
      { name: "write_file", args: { path: "a.py", content: "print(6 * 7)" } },
      { name: "run_command", args: { command: `python3 a.py; echo ${PNG} | base64 -d > dot.png` } },
      { name: "read_file", args: { path: "dot.png" } },
    ]);
    expect(answers.map(({ content }) => content)).toEqual([
      "Wrote 12 bytes to /home/user/a.py.",
      "exit code: 0\nstdout:\n42",
      [{ type: "image", mimeType: "image/png", data: PNG }],
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["success", "success", "success"]);
  });

  it("gets what went wrong as answers of the status error, and goes on", async () => {
    const answers = await run([
      { name: "read_file", args: { path: "none.txt" } },
      { name: "run_command", args: { command: "exit 3" } },
      { name: "list_files", args: { depth: 0 } },
      { name: "read_file", args: {} },
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["error", "error", "error", "error"]);
    const [missing, exit, depth, absent] = answers.map(({ content }) => String(content));
    expect(missing).toMatch(/read_file failed: .*none\.txt.*list_files/);
    expect(exit).toContain("exit code: 3");
    expect(depth).toMatch(/properties\/depth/);
    expect(absent).toMatch(/path/);
  });

  it("an abort of the run ends the command", async () => {
    const controller = new AbortController();
    const settled = expect(run([{ name: "run_command", args: { command: "touch began; sleep 986" } }], controller.signal)).rejects.toThrow(
      /abort/i,
    );
    const sandbox = await session.use(undefined, 0, async (made) => made);
    await expect.poll(() => sandbox.files.exists("began"), { timeout: 30_000 }).toBe(true);
    controller.abort();
    await settled;
    const count = async () => (await sandbox.commands.run("pgrep -fc '[s]leep 986'", { reject: false })).stdout.trim();
    await expect.poll(count, { timeout: 30_000 }).toBe("0");
  });
});
