import type { ReadRawResult, ReadResult } from "deepagents";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { fromReadableStream } from "../../shared/byte-stream.js";
import { concatBytes } from "../../shared/concat-bytes.js";
import { type BackendCall, MAX_FILE_BYTES } from "./backend-call.js";
import { readLineWindow } from "./line-window.js";
import { mediaTypeOf, TEXT_TYPE } from "./media-type.js";

/** The framework knows an empty file by these words. */
const EMPTY_FILE = "System reminder: File exists but has empty contents";
/** Largest file of another kind than text that goes to a model, as the framework has it too. */
const MAX_BINARY_BYTES = 10 * 1024 * 1024;
const HEAD_BYTES = 4096;

/** Read some lines of a text, or all bytes of an image, a sound, a video or a document. */
export async function readFile(sandbox: Sandbox, path: string, offset: number, limit: number, call: BackendCall): Promise<ReadResult> {
  const chunks = fromReadableStream(await sandbox.files.read(path, { ...call, format: "stream" }));
  try {
    const head = await readHead(chunks);
    if (head.length === 0) return { content: EMPTY_FILE, mimeType: TEXT_TYPE };
    const mimeType = mediaTypeOf(path, head);
    if (mimeType === TEXT_TYPE) return await readLines(path, startingWith(head, chunks), offset, limit);
    if (mimeType === undefined) throw new InvalidArgumentError(`'${path}' is no text; look at it with execute, for example file or xxd`);
    return { content: await readBytes(sandbox, path, MAX_BINARY_BYTES, call), mimeType };
  } finally {
    await chunks.return();
  }
}

/** Read a whole file with what is known about it. */
export async function readRaw(sandbox: Sandbox, path: string, call: BackendCall): Promise<ReadRawResult> {
  const bytes = await readBytes(sandbox, path, MAX_FILE_BYTES, call);
  const { modifiedTime = new Date() } = await sandbox.files.getInfo(path, call);
  const modifiedAt = modifiedTime.toISOString();
  const mimeType = mediaTypeOf(path, bytes) ?? "application/octet-stream";
  const content = mimeType === TEXT_TYPE ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes) : bytes;
  // File systems do not tell reliably when a file was made.
  return { data: { content, mimeType, created_at: modifiedAt, modified_at: modifiedAt } };
}

/** @throws {@link InvalidArgumentError} the file is larger than `maxBytes`. */
export async function readBytes(sandbox: Sandbox, path: string, maxBytes: number, call: BackendCall): Promise<Uint8Array> {
  const bytes = await sandbox.files.read(path, { ...call, format: "bytes", range: { start: 0, end: maxBytes + 1 } });
  if (bytes.length <= maxBytes) return bytes;
  throw new InvalidArgumentError(`'${path}' has more than ${maxBytes} bytes; look at parts of it with execute`);
}

async function readLines(path: string, chunks: AsyncIterable<Uint8Array>, offset: number, limit: number): Promise<ReadResult> {
  const { text, count, totalLines } = await readLineWindow(chunks, { offset, limit });
  if (count === 0) {
    if (limit === 0) return { content: "", mimeType: TEXT_TYPE };
    throw new InvalidArgumentError(`'${path}' has ${totalLines} lines, so none from offset ${offset} on`);
  }
  const endLine = offset + count;
  return {
    content: text,
    mimeType: TEXT_TYPE,
    startLine: offset + 1,
    endLine,
    ...(totalLines !== undefined && { totalLines }),
    ...(totalLines !== endLine && { nextOffset: endLine }),
  };
}

/** Enough to tell what the file is, less only where it has less. */
async function readHead(chunks: AsyncGenerator<Uint8Array, void, undefined>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let sizeBytes = 0;
  while (sizeBytes < HEAD_BYTES) {
    const { value, done } = await chunks.next();
    if (done) break;
    parts.push(value);
    sizeBytes += value.length;
  }
  return concatBytes(parts, sizeBytes);
}

async function* startingWith(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  yield first;
  yield* rest;
}
