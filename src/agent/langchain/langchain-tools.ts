import { type ContentBlock, ToolMessage } from "@langchain/core/messages";
import { type DynamicStructuredTool, type ToolRunnableConfig, tool as toStructuredTool } from "@langchain/core/tools";
import type { Tool, ToolContent, ToolResult } from "../tool.js";

/** What a tool gives: a message where a call of a model is answered, else its content. */
export type LangChainToolOutput = ToolMessage | LangChainToolContent;

/** A text, or parts of which some are images. */
export type LangChainToolContent = string | ContentBlock.Standard[];

/** A tool as LangChain takes it. */
export type LangChainTool = DynamicStructuredTool<Record<string, unknown>, unknown, unknown, LangChainToolOutput>;

/**
 * Tools as LangChain takes them, for `createAgent`, `bindTools` and graphs.
 *
 * A failure answers the call with a message of the status `error`. Inputs that do not fit the schema are refused by LangChain itself. The abort
 * of the run rejects, and kills what runs in the sandbox.
 *
 * ```ts
 * await using session = new SandboxSession();
 * const agent = createAgent({ model, tools: toLangChainTools(createTools(session)) });
 * ```
 */
export function toLangChainTools(tools: readonly Tool[]): LangChainTool[] {
  return tools.map((tool) =>
    toStructuredTool((input, config) => callTool(tool, input, config), {
      name: tool.name,
      description: tool.description,
      // The types of LangChain know mutable schemas only; nothing writes into this one.
      schema: tool.inputSchema as unknown as Record<string, unknown>,
      // A model must be told which member is wrong.
      verboseParsingErrors: true,
    }),
  );
}

async function callTool(tool: Tool, input: unknown, config: ToolRunnableConfig): Promise<LangChainToolOutput> {
  const result = await tool.execute(input, { signal: config.signal });
  const content = toContent(result);
  const callId = config.toolCall?.id;
  if (!result.isError || callId === undefined) return content;
  return new ToolMessage({ status: "error", content, tool_call_id: callId, name: tool.name });
}

/** One text alone is what every model takes. */
function toContent({ content }: ToolResult): LangChainToolContent {
  const [first, ...others] = content;
  return first?.type === "text" && others.length === 0 ? first.text : content.map(toBlock);
}

function toBlock(part: ToolContent): ContentBlock.Standard {
  return part.type === "text" ? { type: "text", text: part.text } : { type: "image", mimeType: part.mimeType, data: part.data };
}
