import { dynamicTool, jsonSchema } from "ai";
import type { Tool, ToolResult } from "../tool.js";
import { toModelOutput } from "./model-output.js";
import { outputsOf } from "./progress-outputs.js";

/** A tool as the AI SDK takes it; what it gives is a {@link ToolResult}. */
export type AiSdkTool = ReturnType<typeof dynamicTool>;

/**
 * Tools for `generateText`, `streamText` and agents of the AI SDK, by their names.
 *
 * What goes wrong is an output with `isError`, which the model gets as an error that it can read; only an abort rejects. A tool that runs
 * something gives the newest line of its output as a preliminary result, at most once a second.
 */
export function toAiSdkTools(tools: readonly Tool[]): Record<string, AiSdkTool> {
  return Object.fromEntries(tools.map((tool) => [tool.name, toAiSdkTool(tool)]));
}

function toAiSdkTool(tool: Tool): AiSdkTool {
  return dynamicTool({
    description: tool.description,
    // The same object with `readonly` members, which the type of the framework does not have.
    inputSchema: jsonSchema<unknown>(tool.inputSchema as unknown as Parameters<typeof jsonSchema>[0]),
    execute: (input, { abortSignal }): AsyncIterable<ToolResult> | Promise<ToolResult> =>
      tool.reportsProgress ? outputsOf(tool, input, abortSignal) : tool.execute(input, { signal: abortSignal }),
    toModelOutput: ({ output }) => toModelOutput(output),
  });
}
