import type { IncomingMessage } from "node:http";
import { InvalidArgumentError } from "../errors/error-classes.js";

/**
 * Read a small JSON object from a request. An empty body is an empty object.
 *
 * @throws {@link InvalidArgumentError} not JSON, not an object, or above `maxBytes` (reason `payload_too_large`).
 */
export async function readJsonObject(req: IncomingMessage, maxBytes: number): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new InvalidArgumentError(`the body is above ${maxBytes} bytes`, undefined, "payload_too_large");
    chunks.push(chunk);
  }
  if (size === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks, size).toString("utf8"));
  } catch (cause) {
    throw new InvalidArgumentError("the body is not valid JSON", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new InvalidArgumentError("the body is not a JSON object");
  return value as Record<string, unknown>;
}
