import { ProtocolError } from "../errors/error-classes.js";
import { SerializationError } from "../errors/serialization-error.js";
import { decodeValue, encodeValue } from "./value-codec.js";

/** How a call ended, as it stands in the file that the guest leaves. Its text is an encoded value. */
export type CallFrame =
  | { readonly type: "returned"; readonly value: unknown }
  | { readonly type: "threw"; readonly error: unknown }
  /** The value that was returned is no data. */
  | { readonly type: "unencodable"; readonly path: string; readonly found: string };

/** Never fails: what cannot be sent is told. */
export function encodeFrame(frame: CallFrame): string {
  try {
    return encodeValue(frame, "frame");
  } catch (error) {
    if (!(error instanceof SerializationError)) throw error;
    if (frame.type === "threw") return encodeValue({ type: "threw", error: toBareError(frame.error) } satisfies CallFrame, "frame");
    const path = error.path.replace(/^frame\.value/, "result");
    return encodeValue({ type: "unencodable", path, found: error.found } satisfies CallFrame, "frame");
  }
}

/** @throws {@link ProtocolError} the text, which the guest wrote, is no frame. */
export function decodeFrame(text: string, name: string): CallFrame {
  let frame: unknown;
  try {
    frame = decodeValue(text);
  } catch (cause) {
    throw new ProtocolError(`what the sandbox left as the result of ${name} cannot be read`, { operation: "remote", cause });
  }
  if (isFrame(frame)) return frame;
  throw new ProtocolError(`what the sandbox left as the result of ${name} is not of the expected form`, { operation: "remote" });
}

function isFrame(value: unknown): value is CallFrame {
  if (typeof value !== "object" || value === null) return false;
  const { type, path, found } = value as { type?: unknown; path?: unknown; found?: unknown };
  return type === "returned" || type === "threw" || (type === "unencodable" && typeof path === "string" && typeof found === "string");
}

/** What matters of an error that holds things which are no data, such as a socket. */
function toBareError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return new Error(`a value that is no data was thrown: ${String(thrown)}`);
  const bare = new Error(thrown.message);
  Object.defineProperty(bare, "name", { value: thrown.name });
  Object.defineProperty(bare, "stack", { value: thrown.stack });
  return bare;
}
