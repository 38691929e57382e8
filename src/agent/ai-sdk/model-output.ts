import type { JSONValue, ToolResultPart } from "ai";
import type { ToolContent } from "../tool.js";
import { isToolResult } from "../tool-result-check.js";

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

function toJson(value: unknown): JSONValue {
  const text = JSON.stringify(value);
  return text === undefined ? null : (JSON.parse(text) as JSONValue);
}
