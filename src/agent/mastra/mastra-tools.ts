import { createTool } from "@mastra/core/tools";
import type { InputSchema, Tool, ToolContent, ToolResult } from "../tool.js";
import { isToolResult } from "../tool-result-check.js";

/** A tool of a sandbox as Mastra's agents take it. */
export type MastraTool = ReturnType<typeof toMastraTool>;

/**
 * Tools for the `tools` of a Mastra agent, by their names. What a model does wrong is an answer that says what may stand there; only an abort
 * rejects, with its reason.
 */
export function toMastraTools(tools: readonly Tool[]): Record<string, MastraTool> {
  return Object.fromEntries(tools.map((tool) => [tool.name, toMastraTool(tool)]));
}

function toMastraTool(tool: Tool) {
  return createTool({
    id: tool.name,
    description: tool.description,
    inputSchema: toSchema(tool.inputSchema),
    execute: (input, context): Promise<ToolResult> => {
      const { abortSignal, writer } = context;
      const onProgress = (message: string) =>
        // Nobody may listen any more.
        void writer?.custom({ type: "data-sandbox-progress", data: { tool: tool.name, message }, transient: true }).catch(() => {});
      return tool.execute(input, { signal: abortSignal, onProgress });
    },
    // Mastra puts something else in its place where the call goes on in the background.
    toModelOutput: (output) => (isToolResult(output) ? toModelOutput(output) : undefined),
  });
}

/** The tool checks its input itself, with words for the model. */
function toSchema(schema: InputSchema) {
  const toJsonSchema = (): Record<string, unknown> => ({ ...schema });
  return {
    "~standard": {
      version: 1,
      vendor: "agent-sandbox",
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: toJsonSchema, output: toJsonSchema },
    },
  } as const;
}

/** What the model gets: text, and images as media. A form for errors holds only text, so a failure with images is content. */
function toModelOutput({ content, isError }: ToolResult): unknown {
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (isError && texts.length === content.length) return { type: "error-text", value: texts.join("\n") };
  return { type: "content", value: content.map(toPart) };
}

function toPart(part: ToolContent): unknown {
  return part.type === "text" ? part : { type: "media", data: part.data, mediaType: part.mimeType };
}
