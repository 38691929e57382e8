import { InvalidArgumentError } from "../errors/error-classes.js";
import { fromReadableStream } from "../shared/byte-stream.js";
import { isArrayBuffer, isBytes } from "../shared/is-bytes.js";

/** What a file can be written from. Streams are sent as they come and never collected. */
export type FileData =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ReadableStream<Uint8Array | string>
  | AsyncIterable<Uint8Array | string>;

/** Data with a known size, or a stream of unknown length. */
export type FileBody = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Turn any accepted data into bytes or a byte stream.
 *
 * @throws {@link InvalidArgumentError} the data is of another kind.
 */
export function toFileBody(data: FileData): FileBody {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (isArrayBuffer(data)) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  // By shape and not by class: Blob and ReadableStream may come from another realm or a polyfill.
  if (typeof data === "object" && data !== null) {
    if ("stream" in data && typeof data.stream === "function") return toBytes(fromReadableStream(data.stream()));
    if ("getReader" in data && typeof data.getReader === "function") return toBytes(fromReadableStream(data));
    if (Symbol.asyncIterator in data) return toBytes(data);
  }
  throw new InvalidArgumentError("data must be a string, bytes, a Blob, a ReadableStream or an async iterable of bytes");
}

async function* toBytes(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder();
  for await (const chunk of source) {
    if (typeof chunk === "string") yield encoder.encode(chunk);
    else if (isBytes(chunk)) yield chunk;
    else throw new InvalidArgumentError("a stream of file data must give bytes (Uint8Array) or strings");
  }
}
