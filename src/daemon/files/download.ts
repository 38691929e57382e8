import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip, constants as zlib } from "node:zlib";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { reclaimBuffers } from "../../shared/reclaim-buffers-node.js";
import { errnoCode, fileError } from "../filesystem/file-error.js";
import { sendHttpError } from "../http-response.js";
import { negotiateCoding } from "./accept-encoding.js";
import { checkConditions, chooseRange, isConditional, type Validators } from "./byte-range.js";
import { inlineDisposition } from "./content-disposition.js";
import { contentType } from "./content-type.js";

/** Bytes per read: large enough that reading costs less than sending. */
const CHUNK_BYTES = 1024 * 1024;
/** Smallest and largest page of the processors that Linux knows. */
const PAGE_BYTES = 4096;
const LARGEST_PAGE_BYTES = 64 * 1024;

/**
 * Answer with the content of the file at `path`, links followed: whole, a range, or compressed as the request prefers.
 *
 * The length that the header promises is kept or the connection is cut, so a file that shrinks meanwhile is never silently short.
 *
 * @throws {@link FileNotFoundError} nothing is there; {@link InvalidArgumentError} not a regular file; {@link FailedPreconditionError}
 * a loop of links.
 */
export async function sendFile(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
  const accepted = isConditional(req.headers) ? "identity" : negotiateCoding(req.headers["accept-encoding"]?.toString());
  const file = await openRegularFile(path);
  try {
    res.setHeader("vary", "Accept-Encoding");
    if (accepted === undefined) return sendHttpError(res, 406, "Accept-Encoding excludes both gzip and identity: allow one of them");
    const { size: statedSize, mtimeNs, ino } = await file.stat({ bigint: true });
    const content = await readWithoutSize(file, Number(statedSize));
    const size = content?.length ?? Number(statedSize);
    const validators: Validators = {
      etag: `"${ino.toString(36)}-${size.toString(36)}-${mtimeNs.toString(36)}"`,
      modifiedSeconds: Number(mtimeNs / 1_000_000_000n),
    };
    await sendContent(req, res, { handle: file, path, size, content, validators, coding: accepted });
  } catch (error) {
    throw fileError(error, "read", path);
  } finally {
    await file.close();
  }
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly path: string;
  readonly size: number;
  /** All of it, where it had to be read to know its size. */
  readonly content: Buffer | undefined;
  readonly validators: Validators;
  readonly coding: "gzip" | "identity";
}

/** Does not wait for the other end of a FIFO. */
async function openRegularFile(path: string): Promise<FileHandle> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    // A socket file, or a device without a driver.
    if (errnoCode(error) === "ENXIO") throw new InvalidArgumentError(`path '${path}' is not a regular file`, { cause: error });
    throw fileError(error, "read", path);
  }
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw new InvalidArgumentError(`path '${path}' is ${stats.isDirectory() ? "a directory" : "not a regular file"}`);
}

async function sendContent(req: IncomingMessage, res: ServerResponse, file: OpenFile): Promise<void> {
  const { handle, size, content, validators } = file;
  res.setHeader("last-modified", new Date(validators.modifiedSeconds * 1000).toUTCString());
  res.setHeader("etag", validators.etag);
  const condition = checkConditions(req.headers, validators);
  if (condition === 304) {
    res.writeHead(304).end();
    return;
  }
  if (condition === 412) return sendHttpError(res, 412, `the condition of the request does not hold for '${file.path}'`);
  const range = chooseRange(req.headers, size, validators);
  if (range.kind === "unsatisfiable") {
    return sendHttpError(res, 416, `the range lies outside of the ${size} bytes of '${file.path}'`, { "content-range": `bytes */${size}` });
  }

  const wanted = range.kind === "part" ? range.length : Math.max(size, 4096);
  const start = range.kind === "part" ? range.start : 0;
  const first =
    content?.subarray(start, start + wanted) ?? (await readFull(handle, Buffer.allocUnsafe(Math.min(CHUNK_BYTES, wanted)), start));
  if (first.length === 0 && size > 0) throw new Error("the file was truncated while it was read");
  // A file without a size that is too large to be held: its end is the end of the answer.
  const length = range.kind === "part" ? range.length : size > 0 || first.length === 0 ? size : undefined;
  const sniffed = start === 0 ? first : Buffer.alloc(0);
  res.setHeader("content-disposition", inlineDisposition(basename(file.path)));
  res.setHeader("content-type", contentType(basename(file.path), sniffed));
  res.setHeader("accept-ranges", "bytes");
  if (range.kind === "part") {
    res.statusCode = 206;
    res.setHeader("content-range", `bytes ${start}-${start + range.length - 1}/${size}`);
  }
  if (file.coding === "gzip" && length !== 0) {
    res.setHeader("content-encoding", "gzip");
    const source = Readable.from(chunks(file, first, start, length), { objectMode: false, highWaterMark: CHUNK_BYTES });
    await pipeline(source, createGzip({ level: zlib.Z_BEST_SPEED, chunkSize: 64 * 1024 }), res);
    return;
  }
  if (length !== undefined) res.setHeader("content-length", length);
  await sendPlain(handle, res, first, start, length);
}

/**
 * The content of a file whose size says nothing: files of /proc state 0 bytes and those of /sys whole pages, whatever they hold, and two reads may
 * differ. `undefined` for a file that has the size it states, or is too large to be held.
 */
async function readWithoutSize(handle: FileHandle, statedSize: number): Promise<Buffer | undefined> {
  if (statedSize % PAGE_BYTES !== 0 || statedSize > LARGEST_PAGE_BYTES) return undefined;
  const room = statedSize === 0 ? CHUNK_BYTES : statedSize + 1;
  const content = await readFull(handle, Buffer.allocUnsafe(room), 0);
  return content.length === room ? undefined : content;
}

async function readFull(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}

/** Reads one chunk while the previous one is being sent; two buffers take turns, so memory does not depend on size or reader. */
async function sendPlain(handle: FileHandle, res: ServerResponse, first: Buffer, start: number, length: number | undefined): Promise<void> {
  const end = length ?? Number.POSITIVE_INFINITY;
  if (first.length >= end) {
    res.end(first.subarray(0, end));
    return;
  }
  let sent = first.length;
  let sending = write(res, first);
  const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)] as const;
  for (let turn = 0; sent < end; turn ^= 1) {
    const buffer = turn === 0 ? buffers[0] : buffers[1];
    const { bytesRead } = await handle.read(buffer, 0, Math.min(CHUNK_BYTES, end - sent), start + sent).catch(async (error) => {
      await sending.catch(() => {});
      throw error;
    });
    await sending;
    if (bytesRead === 0) break;
    sent += bytesRead;
    sending = write(res, buffer.subarray(0, bytesRead));
  }
  await sending;
  if (length !== undefined && sent < length) throw new Error(`the file ended after ${sent} of ${length} bytes`);
  res.end();
}

/** Resolves when the bytes left for the kernel, so that their buffer may be used again. */
function write(res: ServerResponse, bytes: Buffer): Promise<void> {
  const written = new Promise<void>((resolve, reject) => {
    if (res.destroyed) reject(new Error("the client closed the connection"));
    const onClose = (): void => reject(new Error("the client closed the connection"));
    res.once("close", onClose);
    res.write(bytes, (error) => {
      res.off("close", onClose);
      if (error) reject(error);
      else resolve();
    });
  });
  // The caller awaits it after the next read; a client that leaves meanwhile must not be an unhandled rejection.
  written.catch(() => {});
  return written;
}

async function* chunks({ handle }: OpenFile, first: Buffer, start: number, length: number | undefined): AsyncGenerator<Buffer> {
  const end = length ?? Number.POSITIVE_INFINITY;
  yield first.subarray(0, end);
  for (let sent = first.length; sent < end; ) {
    const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, end - sent));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start + sent);
    if (bytesRead === 0) {
      if (length !== undefined) throw new Error(`the file ended after ${sent} of ${length} bytes`);
      return;
    }
    sent += bytesRead;
    reclaimBuffers(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
}
