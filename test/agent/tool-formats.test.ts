import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { boundText } from "../../src/agent/bounded-text.js";
import { SandboxSession } from "../../src/agent/sandbox-session.js";
import { createTools } from "../../src/agent/sandbox-toolset.js";
import { defineTool, type Tool } from "../../src/agent/tool.js";
import { callAnthropicTool, callOpenAiTool, toAnthropicTools, toOpenAiTools } from "../../src/agent/tool-formats.js";

const echo: Tool = defineTool({
  name: "echo",
  description: "Say it again.",
  parameters: { text: { type: "string", isRequired: true, description: "What." } },
  run: async ({ text }) => ({
    content: [
      { type: "text", text },
      { type: "image", data: "AA==", mimeType: "image/png" },
    ],
    isError: false,
  }),
});

describe("tools in the forms of providers", () => {
  it("have names and schemas that every provider takes", () => {
    const tools = createTools(new SandboxSession());
    expect(tools.map(({ name }) => name).sort()).toEqual(
      [
        ...["create_sandbox", "edit_file", "get_port_url", "kill_sandbox", "list_files", "list_processes"],
        ...["read_file", "run_code", "run_command", "search_files", "write_file"],
      ].sort(),
    );
    for (const { name, inputSchema, description } of tools) {
      expect(name).toMatch(/^[a-z_]{1,64}$/);
      expect(description.length).toBeGreaterThan(20);
      const ajv = new Ajv2020({ strict: true });
      expect(ajv.validateSchema(inputSchema), ajv.errorsText()).toBe(true);
      for (const [member, schema] of Object.entries(inputSchema.properties)) {
        expect(schema.description, `${name}.${member}`).toMatch(/\w/);
      }
      ajv.compile(inputSchema);
    }
  });

  it("OpenAI: definition, call and answer", async () => {
    expect(toOpenAiTools([echo])).toEqual([
      { type: "function", function: { name: "echo", description: "Say it again.", parameters: echo.inputSchema } },
    ]);
    const answer = await callOpenAiTool([echo], { id: "c1", function: { name: "echo", arguments: '{"text":"hi"}' } });
    expect(answer).toEqual({ role: "tool", tool_call_id: "c1", content: expect.stringMatching(/^hi\n\[an image of the type image\/png/) });
    const bad = await callOpenAiTool([echo], { id: "c2", function: { name: "echo", arguments: "{" } });
    expect(bad.content).toContain("echo failed");
    const unknown = await callOpenAiTool([echo], { id: "c3", function: { name: "nope", arguments: "{}" } });
    expect(unknown.content).toContain('there is no tool "nope"; there are echo');
  });

  it("Anthropic: definition, call and answer", async () => {
    expect(toAnthropicTools([echo])).toEqual([{ name: "echo", description: "Say it again.", input_schema: echo.inputSchema }]);
    const answer = await callAnthropicTool([echo], { id: "t1", name: "echo", input: { text: "hi" } });
    expect(answer).toEqual({
      type: "tool_result",
      tool_use_id: "t1",
      content: [
        { type: "text", text: "hi" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "AA==" } },
      ],
      is_error: false,
    });
    const aborted = callAnthropicTool([echo], { id: "t2", name: "echo", input: {} }, { signal: AbortSignal.abort(new Error("enough")) });
    await expect(aborted).rejects.toThrow("enough");
  });
});

it("a text is cut in the middle, never in a character, and the cut is counted", () => {
  expect(boundText("short", 10)).toBe("short");
  const cut = boundText("a".repeat(500) + "🚀".repeat(500), 101);
  expect(cut).toMatch(/^a{50}\n\[… \d+ of 1500 characters left out …\]\n(🚀)+$/u);
  expect(cut).not.toMatch(/\p{Surrogate}/u);
});
