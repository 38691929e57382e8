import { type FunctionTool, tool as functionTool, type ToolOutputImage, type ToolOutputText } from "@openai/agents-core";
import type { Tool, ToolContent } from "../tool.js";

/** What a tool of ours gives to the framework: text, or a list where there are images. */
export type FunctionToolOutput = string | (ToolOutputText | ToolOutputImage)[];

/** A tool of ours as the framework has it. */
export type SandboxFunctionTool = FunctionTool<unknown, FunctionToolSchema, FunctionToolOutput>;

/** The type of schemas that are not strict. */
export interface FunctionToolSchema {
  type: "object";
  properties: Record<string, Readonly<Record<string, unknown>>>;
  required: string[];
  additionalProperties: true;
}

/**
 * Tools as function tools of the OpenAI Agents SDK. A failure is an output from which a model can recover; only an abort rejects.
 *
 * ```ts
 * await using session = new SandboxSession();
 * const agent = new Agent({ name: "Coder", tools: toFunctionTools(createTools(session)) });
 * ```
 */
export function toFunctionTools(tools: readonly Tool[]): SandboxFunctionTool[] {
  return tools.map(toFunctionTool);
}

function toFunctionTool(tool: Tool): SandboxFunctionTool {
  const { name, description, inputSchema } = tool;
  const { type, properties, required } = inputSchema;
  // The type of schemas that are not strict has only `true`; the framework passes on what stands there, and our tools take no other members.
  const additionalProperties = inputSchema.additionalProperties as unknown as true;
  return functionTool({
    name,
    description,
    // Strict schemas require every member; ours have members that can be left out.
    strict: false,
    parameters: { type, properties: { ...properties }, required: [...required], additionalProperties },
    execute: async (input, _context, details): Promise<FunctionToolOutput> => {
      const { content } = await tool.execute(input, { signal: details?.signal });
      const [only] = content;
      return content.length === 1 && only?.type === "text" ? only.text : content.map(toOutput);
    },
  });
}

function toOutput(part: ToolContent): ToolOutputText | ToolOutputImage {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "image", image: { data: part.data, mediaType: part.mimeType } };
}
