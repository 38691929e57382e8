import { createHash } from "node:crypto";
import type { RecordedRequest } from "./recording-file.js";

/** Bytes of a binary body that are kept; of a larger one only its hash is. */
const MAX_BINARY_BYTES = 4_096;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
/** Flags and length before each message of a Connect stream. */
const ENVELOPE_BYTES = 5;

/** What a request is made of. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
}

/** Put a request into the form that is recorded and compared. */
export function toRecordedRequest({ method, url, header, body }: SentRequest, redact: (text: string) => string): RecordedRequest {
  const { pathname, search } = new URL(url);
  const contentType = header("content-type");
  const uuids = new Map<string, string>();
  const number = (text: string): string =>
    text.replace(UUID, (uuid) => {
      // Random in each run; the order of first appearance tells them apart as well.
      const known = uuids.get(uuid) ?? `uuid-${uuids.size + 1}`;
      uuids.set(uuid, known);
      return known;
    });
  const clean = (text: string): string => redact(number(text));
  // One character for each byte: the parts of a form are bytes, between boundaries that are drawn at random.
  const numberBytes = (bytes: Uint8Array): Uint8Array => Buffer.from(number(Buffer.from(bytes).toString("latin1")), "latin1");
  const sandboxId = header("e2b-sandbox-id");
  return {
    method,
    target: clean(pathname + search),
    ...(sandboxId !== undefined && { sandboxId }),
    ...(contentType !== undefined && { contentType: clean(contentType) }),
    body: body.length === 0 ? [] : clean(toText(body, contentType ?? "", numberBytes)).split("\n"),
  };
}

function toText(body: Uint8Array, contentType: string, numberBytes: (bytes: Uint8Array) => Uint8Array): string {
  if (contentType.startsWith("application/connect+json")) return splitEnvelopes(body).map(toPrettyJson).join("\n");
  if (contentType.startsWith("application/json")) return toPrettyJson(body);
  return decode(body) ?? toBinaryText(numberBytes(body));
}

function splitEnvelopes(body: Uint8Array): Uint8Array[] {
  const messages: Uint8Array[] = [];
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  for (let at = 0; at + ENVELOPE_BYTES <= body.length; ) {
    const size = view.getUint32(at + 1);
    messages.push(body.subarray(at + ENVELOPE_BYTES, at + ENVELOPE_BYTES + size));
    at += ENVELOPE_BYTES + size;
  }
  return messages;
}

function toPrettyJson(bytes: Uint8Array): string {
  const text = decode(bytes);
  if (text === undefined) return toBinaryText(bytes);
  try {
    return JSON.stringify(JSON.parse(text), sortKeys, 2);
  } catch {
    return text;
  }
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function toBinaryText(bytes: Uint8Array): string {
  if (bytes.length <= MAX_BINARY_BYTES) return `base64: ${Buffer.from(bytes).toString("base64")}`;
  return `${bytes.length} bytes, sha256 ${createHash("sha256").update(bytes).digest("hex")}`;
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
