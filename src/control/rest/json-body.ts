import type { IncomingMessage } from "node:http";
import { InvalidArgumentError } from "../../errors/error-classes.js";

/** Largest body of a request. */
export const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Read the JSON body of a request, with a length or chunked; `undefined` when it is empty.
 *
 * @throws {@link InvalidArgumentError} too large, another media type, or not JSON.
 */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  assertJsonType(request);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (cause) {
    throw new InvalidArgumentError(`the body is not valid JSON: ${(cause as SyntaxError).message}`, { cause });
  }
}

function assertJsonType(request: IncomingMessage): void {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  const encoding = request.headers["content-encoding"]?.toLowerCase() ?? "identity";
  if (type !== undefined && type !== "application/json") {
    throw new InvalidArgumentError(`the body must be application/json, not ${type}`, undefined, "unsupported_media_type");
  }
  if (encoding !== "identity") {
    throw new InvalidArgumentError(`the body must not be encoded as ${encoding}`, undefined, "unsupported_media_type");
  }
}

function tooLarge(): InvalidArgumentError {
  return new InvalidArgumentError(`the body is larger than ${MAX_BODY_BYTES} bytes`, undefined, "payload_too_large");
}
