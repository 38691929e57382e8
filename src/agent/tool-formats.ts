import { describeFailure } from "./describe-failure.js";
import { findTool, type InputSchema, type Tool, type ToolCallOptions, type ToolContent, type ToolResult, textResult } from "./tool.js";

/** A tool as OpenAI's Chat Completions API takes it. */
export interface OpenAiTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: InputSchema };
}

/** A call in a message of OpenAI's Chat Completions API. */
export interface OpenAiToolCall {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** The message that answers an {@link OpenAiToolCall}. It can hold text only. */
export interface OpenAiToolMessage {
  readonly role: "tool";
  readonly tool_call_id: string;
  readonly content: string;
}

/** A tool as Anthropic's Messages API takes it. */
export interface AnthropicTool {
  readonly name: string;
  readonly description: string;
  readonly input_schema: InputSchema;
}

/** A call in a message of Anthropic's Messages API. */
export interface AnthropicToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

type AnthropicContent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly source: { readonly type: "base64"; readonly media_type: string; readonly data: string } };

/** The block that answers an {@link AnthropicToolUse}. */
export interface AnthropicToolResult {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content: readonly AnthropicContent[];
  readonly is_error: boolean;
}

/** Tools as OpenAI's chat completions take them. */
export function toOpenAiTools(tools: readonly Tool[]): OpenAiTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema },
  }));
}

/** Tools as Anthropic's messages take them. */
export function toAnthropicTools(tools: readonly Tool[]): AnthropicTool[] {
  return tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema }));
}

/** Make a call of OpenAI's form. Only an abort rejects: what a model got wrong is an answer that says so. */
export async function callOpenAiTool(tools: readonly Tool[], call: OpenAiToolCall, options?: ToolCallOptions): Promise<OpenAiToolMessage> {
  const { name, arguments: text } = call.function;
  const result = await callByName(tools, name, () => (text.trim() === "" ? {} : JSON.parse(text)), options);
  return { role: "tool", tool_call_id: call.id, content: result.content.map(toText).join("\n") };
}

/** Make a call of Anthropic's form. Only an abort rejects: what a model got wrong is an answer that says so. */
export async function callAnthropicTool(
  tools: readonly Tool[],
  call: AnthropicToolUse,
  options?: ToolCallOptions,
): Promise<AnthropicToolResult> {
  const result = await callByName(tools, call.name, () => call.input, options);
  return { type: "tool_result", tool_use_id: call.id, content: result.content.map(toAnthropicContent), is_error: result.isError };
}

async function callByName(tools: readonly Tool[], name: string, input: () => unknown, options?: ToolCallOptions): Promise<ToolResult> {
  let call: () => Promise<ToolResult>;
  try {
    const tool = findTool(tools, name);
    const value = input();
    call = () => tool.execute(value, options);
  } catch (error) {
    return textResult(describeFailure(name, error), true);
  }
  return call();
}

function toText(part: ToolContent): string {
  return part.type === "text" ? part.text : `[an image of the type ${part.mimeType}, which cannot stand in this answer]`;
}

function toAnthropicContent(part: ToolContent): AnthropicContent {
  if (part.type === "text") return part;
  return { type: "image", source: { type: "base64", media_type: part.mimeType, data: part.data } };
}
