import { ProtocolError, TimeoutError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { fromReadableStream, toReadableStream } from "../shared/byte-stream.js";
import { concatBytes } from "../shared/concat-bytes.js";
import { isBytes } from "../shared/is-bytes.js";
import type { RequestOptions } from "../transport/config.js";
import type { DaemonAnswer, DaemonHttp } from "../transport/daemon-http.js";
import { assertContentRange, type ByteRange, sliceBody, toRangeHeader } from "./byte-range.js";
import { DAEMON_FEATURES, isVersionAtLeast } from "./daemon-version.js";
import type { FileBody } from "./file-data.js";
import { encodeMultipart, isSafeFileName } from "./multipart.js";

/** Options of one transfer. */
export interface TransferOptions extends RequestOptions {
  readonly operation: string;
  readonly user?: string | undefined;
  /** Compress on the way. */
  readonly gzip?: boolean | undefined;
}

/** Options of a download. */
export interface DownloadOptions extends TransferOptions {
  /** Checked already. */
  readonly range?: ByteRange | undefined;
}

/** Options of an upload. */
export interface UploadOptions extends TransferOptions {
  readonly metadataHeaders: Readonly<Record<string, string>>;
  /** `false` asks for the multipart form where the data allows it. */
  readonly useOctetStream?: boolean | undefined;
}

/** A file to upload. */
export interface UploadEntry {
  readonly path: string;
  readonly body: FileBody;
}

/** A file that was written. */
export interface WriteInfo {
  readonly name: string;
  readonly type?: "file";
  /** Absolute. */
  readonly path: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

/** File content over the daemon's HTTP endpoints; bodies are never held back whole. */
export interface FileTransfer {
  /** The whole content. */
  read(path: string, options: DownloadOptions): Promise<Uint8Array<ArrayBuffer>>;
  /** The content as it comes. `idleTimeoutMs` ends a transfer that stands still for that long; `0` never. */
  readStream(path: string, options: DownloadOptions & { readonly idleTimeoutMs: number }): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
  /** Write files; one element per entry, in order. */
  write(entries: readonly UploadEntry[], options: UploadOptions): Promise<WriteInfo[]>;
}

/** HTTP status for a range behind the end of the file. */
const NOTHING_IN_RANGE = 416;

const GZIP = "gzip";
const IDENTITY = "identity";

/** Open the file endpoints of a daemon, whose version decides how uploads are sent. */
export function createFileTransfer(http: DaemonHttp, envdVersion: string): FileTransfer {
  async function writeRaw({ path, body }: UploadEntry, options: UploadOptions): Promise<WriteInfo[]> {
    return post(
      path,
      {
        "content-type": "application/octet-stream",
        ...(options.gzip && { "content-encoding": "gzip" }),
        ...options.metadataHeaders,
      },
      options.gzip ? compress(body) : body,
      options,
    );
  }

  async function writeMultipart(entries: readonly UploadEntry[], options: UploadOptions): Promise<WriteInfo[]> {
    const { contentType, body } = encodeMultipart(entries);
    const path = entries.length === 1 ? entries[0]?.path : undefined;
    const headers = { "content-type": contentType, ...(options.gzip && { "content-encoding": "gzip" }), ...options.metadataHeaders };
    return post(path, headers, options.gzip ? compress(body) : body, options);
  }

  async function post(
    path: string | undefined,
    headers: Record<string, string>,
    body: FileBody,
    options: UploadOptions,
  ): Promise<WriteInfo[]> {
    const { operation, signal, requestTimeoutMs } = options;
    const target = toTarget(path, options.user);
    const answer = await http.send({
      operation,
      method: "POST",
      target,
      headers,
      body,
      signal,
      requestTimeoutMs,
      notFound: "file_not_found",
    });
    try {
      const written: unknown = JSON.parse(new TextDecoder().decode(await answer.response.bytes()));
      if (!Array.isArray(written)) throw new SyntaxError("not a list");
      return written as WriteInfo[]; // the contract's shape; unknown fields of newer daemons stay
    } catch (error) {
      if (error instanceof SyntaxError) {
        throw new ProtocolError(`${operation}: the daemon's answer is not the list of written files`, { operation, cause: error });
      }
      throw await answer.explain(error);
    } finally {
      answer.deadline[Symbol.dispose]();
    }
  }

  async function open(path: string, options: DownloadOptions): Promise<DaemonAnswer> {
    const { operation, signal, requestTimeoutMs, range } = options;
    const answer = await http.send({
      operation,
      method: "GET",
      target: toTarget(path, options.user),
      headers: {
        "accept-encoding": options.gzip && range === undefined ? "gzip" : "identity",
        ...(range !== undefined && { range: toRangeHeader(range) }),
      },
      signal,
      requestTimeoutMs,
      notFound: "file_not_found",
      expectedStatus: range === undefined ? undefined : NOTHING_IN_RANGE,
    });
    try {
      const { status } = answer.response;
      if (range !== undefined && status === 206) assertContentRange(answer.response.header("content-range"), range, operation);
      if (status !== NOTHING_IN_RANGE) assertIsFile(answer, operation);
      assertCoding(answer, operation);
      return answer;
    } catch (error) {
      answer.deadline.abort(error);
      answer.deadline[Symbol.dispose]();
      throw error;
    }
  }

  function tooOld(operation: string, what: string): UnimplementedError {
    return new UnimplementedError(`${operation}: the daemon (version ${envdVersion}) is too old for ${what}; rebuild the template`, {
      operation,
    });
  }

  return {
    async read(path, options) {
      const answer = await open(path, options);
      try {
        const { response } = answer;
        const isWanted =
          response.status === 206 || (options.range === undefined && (response.header("content-encoding") ?? IDENTITY) === IDENTITY);
        const bytes = isWanted ? await response.bytes() : await collect(content(answer, options.range));
        return bytes as Uint8Array<ArrayBuffer>; // no client gives shared memory
      } catch (error) {
        throw await answer.explain(error);
      } finally {
        answer.deadline[Symbol.dispose]();
      }
    },
    async readStream(path, options) {
      const answer = await open(path, options);
      answer.deadline.stopTimer();
      return toReadableStream(readChunks(answer, options));
    },
    async write(entries, options) {
      const hasOctetStream = isVersionAtLeast(envdVersion, DAEMON_FEATURES.octetStreamUpload);
      if (options.gzip && !hasOctetStream) throw tooOld(options.operation, "compressed uploads");
      const isRaw = entries.length === 1 ? prefersRaw(entries, options) : options.useOctetStream || !entries.every(hasSafeName);
      if (hasOctetStream && isRaw) {
        const written: WriteInfo[] = [];
        for (const entry of entries) written.push(...(await writeRaw(entry, options)));
        return written;
      }
      return writeMultipart(entries, options);
    },
  };
}

/** A form that is compressed or has no length is understood by fewer servers than a raw body. */
function prefersRaw(entries: readonly UploadEntry[], { useOctetStream, gzip }: UploadOptions): boolean {
  return useOctetStream !== false || gzip === true || entries.some(({ body }) => !isBytes(body));
}

function hasSafeName({ path }: UploadEntry): boolean {
  return isSafeFileName(path);
}

function toTarget(path: string | undefined, user: string | undefined): string {
  const query = new URLSearchParams({ ...(path !== undefined && { path }), ...(user !== undefined && { username: user }) });
  return `/files?${query}`;
}

/**
 * A proxy on the way may answer an error with status 200. A file carries a Content-Disposition header, such an error does not.
 */
function assertIsFile({ response }: DaemonAnswer, operation: string): void {
  const isJson = response.header("content-type")?.startsWith("application/json") ?? false;
  if (!isJson || response.header("content-disposition") !== undefined) return;
  throw new ProtocolError(`${operation}: the answer is not a file (it is JSON without a file name)`, { operation });
}

/** What comes in a coding that was not asked for would be taken for the content. */
function assertCoding({ response }: DaemonAnswer, operation: string): void {
  const coding = response.header("content-encoding")?.trim().toLowerCase() ?? IDENTITY;
  if (coding === IDENTITY || (coding === GZIP && response.status !== 206)) return;
  throw new ProtocolError(`${operation}: the content comes in the coding '${coding}', which was not asked for`, { operation });
}

async function* readChunks(
  answer: DaemonAnswer,
  { operation, idleTimeoutMs, range }: DownloadOptions & { readonly idleTimeoutMs: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  const toIdleTimeout = () =>
    new TimeoutError(`${operation}: no byte came for streamIdleTimeoutMs (${idleTimeoutMs} ms)`, { operation, timeout: "request" });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = () => {
    if (idleTimeoutMs > 0) timer = setTimeout(() => answer.deadline.abort(toIdleTimeout()), Math.min(idleTimeoutMs, 2 ** 31 - 1));
  };
  try {
    watch();
    for await (const chunk of content(answer, range)) {
      clearTimeout(timer);
      yield chunk;
      watch();
    }
  } catch (error) {
    throw await answer.explain(error);
  } finally {
    clearTimeout(timer);
    answer.deadline[Symbol.dispose]();
  }
}

/** The wanted bytes: servers may ignore a range and send the whole file. */
function content(answer: DaemonAnswer, range: ByteRange | undefined): AsyncIterable<Uint8Array> {
  // That body only explains why there is nothing.
  if (answer.response.status === NOTHING_IN_RANGE) return sliceBody(answer.response.body, { start: Number.MAX_SAFE_INTEGER });
  return range === undefined || answer.response.status === 206 ? decode(answer) : sliceBody(decode(answer), range);
}

function decode(answer: DaemonAnswer): AsyncIterable<Uint8Array> {
  const { response } = answer;
  return response.header("content-encoding")?.trim().toLowerCase() === GZIP ? decompress(answer) : response.body;
}

async function* decompress({ response, deadline }: DaemonAnswer): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* fromReadableStream(toReadableStream(response.body).pipeThrough(new DecompressionStream(GZIP)));
  } catch (error) {
    // What the connection says passes as it is; the decompressor itself has a plain TypeError to say.
    if (deadline.signal.aborted || SandboxError.isInstance(error)) throw error;
    throw new ProtocolError("the compressed content is corrupt or ends too early", { cause: error });
  }
}

function compress(body: FileBody): AsyncIterable<Uint8Array> {
  const source = isBytes(body) ? once(body) : body;
  return fromReadableStream(toReadableStream(source).pipeThrough(new CompressionStream("gzip")));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

async function collect(source: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
  }
  return concatBytes(chunks, sizeBytes);
}
