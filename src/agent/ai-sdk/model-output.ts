import type { JSONValue, ToolResultPart } from "ai";
import type { ToolContent, ToolResult } from "../tool.js";

type ModelOutput = ToolResultPart["output"];

/** What a model is shown of an output, which may come back from a user interface and so may be anything. */
export function toModelOutput(output: unknown): ModelOutput {
  if (!isToolResult(output)) return { type: "json", value: toJson(output) };
  const { content, isError } = output;
  const texts = content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length === content.length) return { type: isError ? "error-text" : "text", value: texts.join("\n") };
  // There is no error with images, so the words say it.
  const parts = isError ? [{ type: "text" as const, text: "The tool failed." }, ...content] : content;
  return { type: "content", value: parts.map(toPart) };
}

function toPart(part: ToolContent): Extract<ModelOutput, { type: "content" }>["value"][number] {
  if (part.type === "text") return { type: "text", text: part.text };
  return { type: "file", mediaType: part.mimeType, data: { type: "data", data: part.data } };
}

function isToolResult(output: unknown): output is ToolResult {
  if (typeof output !== "object" || output === null || !("content" in output) || !("isError" in output)) return false;
  return typeof output.isError === "boolean" && Array.isArray(output.content) && output.content.every(isContent);
}

function isContent(part: unknown): part is ToolContent {
  if (typeof part !== "object" || part === null || !("type" in part)) return false;
  if (part.type === "text") return "text" in part && typeof part.text === "string";
  return (
    part.type === "image" && "data" in part && typeof part.data === "string" && "mimeType" in part && typeof part.mimeType === "string"
  );
}

function toJson(value: unknown): JSONValue {
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as JSONValue);
}
