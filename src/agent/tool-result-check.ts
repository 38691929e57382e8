import type { ToolContent, ToolResult } from "./tool.js";

/** Whether what a framework kept is the result of a tool: it may have put something else in its place, or got it from a user interface. */
export function isToolResult(value: unknown): value is ToolResult {
  if (typeof value !== "object" || value === null || !("content" in value) || !("isError" in value)) return false;
  return typeof value.isError === "boolean" && Array.isArray(value.content) && value.content.every(isContent);
}

function isContent(part: unknown): part is ToolContent {
  if (typeof part !== "object" || part === null || !("type" in part)) return false;
  if (part.type === "text") return "text" in part && typeof part.text === "string";
  return (
    part.type === "image" && "data" in part && typeof part.data === "string" && "mimeType" in part && typeof part.mimeType === "string"
  );
}
