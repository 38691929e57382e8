import { InvalidArgumentError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { ArchiveClient } from "../protocol/archive-client.js";
import { type ByteRange, checkByteRange } from "../protocol/byte-range.js";
import { DAEMON_FEATURES, isVersionAtLeast } from "../protocol/daemon-version.js";
import { type FileBody, type FileData, toFileBody } from "../protocol/file-data.js";
import { toMetadataHeaders } from "../protocol/file-metadata.js";
import type { EntryInfo, FilesystemClient } from "../protocol/filesystem-client.js";
import type { FileTransfer, WriteInfo } from "../protocol/transfer.js";
import { toReadableStream } from "../shared/byte-stream.js";
import { isBytes } from "../shared/is-bytes.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import { checkUser } from "./options.js";
import { type WatchCallback, type WatchExitCallback, WatchHandle } from "./watch-handle.js";

/** Options of a call about a path. */
export interface FileOptions extends RequestOptions {
  /** User inside the sandbox: relative paths and `~` mean this user's home. @defaultValue the template's user */
  readonly user?: string | undefined;
}

/** How a file is read. */
export interface FileReadOptions extends FileOptions {
  /** Compress on the way; a part of a file never is. @defaultValue false */
  readonly gzip?: boolean | undefined;
  /** Only these bytes. As text, a character that a bound cuts is decoded to U+FFFD. @defaultValue the whole file */
  readonly range?: ByteRange | undefined;
  /** Only for `stream`: milliseconds without a byte after which the stream fails; `0` never. @defaultValue 0 */
  readonly streamIdleTimeoutMs?: number | undefined;
}

/** The form of what was read. */
export type FileFormat = "text" | "bytes" | "blob" | "stream";

/** What each {@link FileFormat} gives. */
export interface FileContent {
  readonly text: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly blob: Blob;
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** How a file is written. */
export interface FileWriteOptions extends FileOptions {
  /** Compress on the way. @defaultValue false */
  readonly gzip?: boolean | undefined;
  /** Send each file as a raw body. @defaultValue where the daemon can and it is better */
  readonly useOctetStream?: boolean | undefined;
  /** Labels kept with the file; they replace earlier ones. Keys are HTTP tokens, values printable ASCII. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** One of several files to write. */
export interface FileWriteEntry {
  readonly path: string;
  readonly data: FileData;
}

/** How a directory is listed. */
export interface FileListOptions extends FileOptions {
  /** Levels to list; 1 is the directory itself. @defaultValue 1 */
  readonly depth?: number | undefined;
  /** Also what is neither a file nor a directory, such as a socket or a broken link; it has no `type`. @defaultValue false */
  readonly includeOther?: boolean | undefined;
}

/** How a directory is read as an archive. */
export interface ReadArchiveOptions extends FileOptions {
  /** Patterns of what to leave out, relative to the directory, in the form of `.gitignore`. @defaultValue nothing */
  readonly ignore?: readonly string[] | undefined;
}

/** How a directory is watched. */
export interface WatchOptions extends FileOptions {
  /** Also directories below, and those made later. @defaultValue false */
  readonly recursive?: boolean | undefined;
  /** Milliseconds until the watch ends with a `TimeoutError`; `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
  readonly onExit?: WatchExitCallback | undefined;
  /** Send the entry with create, write and chmod events. @defaultValue false */
  readonly includeEntry?: boolean | undefined;
  /** Watch network file systems too, where changes by others are not seen. @defaultValue false */
  readonly allowNetworkMounts?: boolean | undefined;
}

/** The clients below {@link Files}. */
export interface FileClients {
  readonly entries: FilesystemClient;
  readonly transfer: FileTransfer;
  readonly archives: ArchiveClient;
}

const DEFAULT_WATCH_TIMEOUT_MS = 60_000;
const MAX_DEPTH = 2 ** 32 - 1;

/**
 * Files of one sandbox.
 *
 * Paths are absolute, relative to the user's home, or begin with `~`. A missing path is a {@link FileNotFoundError}, a path of
 * the wrong kind an {@link InvalidArgumentError}.
 */
export class Files {
  readonly #entries: FilesystemClient;
  readonly #transfer: FileTransfer;
  readonly #archives: ArchiveClient;
  readonly #envdVersion: string;

  /** @internal */
  constructor({ entries, transfer, archives }: FileClients, envdVersion: string) {
    this.#entries = entries;
    this.#transfer = transfer;
    this.#archives = archives;
    this.#envdVersion = envdVersion;
  }

  /** Read a file, as text unless `format` says otherwise. A `stream` is not held in memory and must be read or cancelled. */
  read(path: string, options?: FileReadOptions & { readonly format?: "text" | undefined }): Promise<string>;
  read<F extends FileFormat>(path: string, options: FileReadOptions & { readonly format: F }): Promise<FileContent[F]>;
  async read(path: string, options: FileReadOptions & { readonly format?: FileFormat | undefined } = {}): Promise<FileContent[FileFormat]> {
    const call = { ...this.#call("files.read", path, options), gzip: options.gzip, range: checkByteRange(options.range) };
    switch (options.format ?? "text") {
      case "text":
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await this.#transfer.read(path, call));
      case "bytes":
        return this.#transfer.read(path, call);
      case "blob":
        return new Blob([await this.#transfer.read(path, call)]);
      case "stream":
        return this.#transfer.readStream(path, {
          ...call,
          idleTimeoutMs: checkTimeoutMs("streamIdleTimeoutMs", options.streamIdleTimeoutMs) ?? 0,
        });
      default:
        throw new InvalidArgumentError(`format must be "text", "bytes", "blob" or "stream", not ${JSON.stringify(options.format)}`);
    }
  }

  /**
   * Write a file, or several in one call. Parents are made, an existing file is replaced.
   *
   * Streams are sent as they come; a streamed upload has no time limit unless `requestTimeoutMs` is given.
   */
  write(path: string, data: FileData, options?: FileWriteOptions): Promise<WriteInfo>;
  write(files: readonly FileWriteEntry[], options?: FileWriteOptions): Promise<WriteInfo[]>;
  async write(
    pathOrFiles: string | readonly FileWriteEntry[],
    dataOrOptions?: FileData | FileWriteOptions,
    options?: FileWriteOptions,
  ): Promise<WriteInfo | WriteInfo[]> {
    if (typeof pathOrFiles !== "string") {
      return this.writeFiles(pathOrFiles, dataOrOptions as FileWriteOptions | undefined); // the second overload
    }
    const data = dataOrOptions as FileData; // the first overload
    const [written] = await this.#write("files.write", [{ path: pathOrFiles, data }], options);
    if (written === undefined)
      throw new SandboxError("protocol", "files.write: the daemon did not confirm the file", { operation: "files.write" });
    return written;
  }

  /**
   * Write several files in one request; one each only with `useOctetStream` and for names that a form cannot carry. Two entries for one path
   * are refused. They are written in their order: when one fails, those before it stay.
   */
  async writeFiles(files: readonly FileWriteEntry[], options?: FileWriteOptions): Promise<WriteInfo[]> {
    assertDistinct(files);
    return files.length === 0 ? [] : this.#write("files.writeFiles", files, options);
  }

  /** Entries of a directory, in order of their names; links are not followed below it. */
  async list(path: string, options: FileListOptions = {}): Promise<EntryInfo[]> {
    const depth = options.depth ?? 1;
    if (!Number.isInteger(depth) || depth < 1 || depth > MAX_DEPTH) {
      throw new InvalidArgumentError(`depth must be a whole number of at least 1, not ${String(depth)}`);
    }
    return this.#entries.list(path, depth, { ...this.#call("files.list", path, options), includeOther: options.includeOther });
  }

  /** Whether a file or directory is there. */
  async exists(path: string, options: FileOptions = {}): Promise<boolean> {
    try {
      await this.#entries.stat(path, this.#call("files.exists", path, options));
      return true;
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "file_not_found") return false;
      throw error;
    }
  }

  /** Describe a file or directory. */
  async getInfo(path: string, options: FileOptions = {}): Promise<EntryInfo> {
    return this.#entries.stat(path, this.#call("files.getInfo", path, options));
  }

  /** Make a directory and its parents. False when it exists already. */
  async makeDir(path: string, options: FileOptions = {}): Promise<boolean> {
    return this.#entries.makeDir(path, this.#call("files.makeDir", path, options));
  }

  /** Rename or move; an existing file at the new path is replaced, missing parents are made. */
  async rename(oldPath: string, newPath: string, options: FileOptions = {}): Promise<EntryInfo> {
    assertText("newPath", newPath);
    return this.#entries.move(oldPath, newPath, this.#call("files.rename", oldPath, options));
  }

  /** Remove a file or a whole directory. A path where nothing is is fine. */
  async remove(path: string, options: FileOptions = {}): Promise<void> {
    await this.#entries.remove(path, this.#call("files.remove", path, options));
  }

  /**
   * Read everything below a directory as a tar archive: permission bits, times, symbolic and hard links. The stream must be read or
   * cancelled, and rejects when the archive is not complete. `downloadDir` of the entry `./node` unpacks it.
   *
   * On a daemon that is not ours a `tar` program inside the sandbox writes it.
   */
  async readArchive(path: string, options: ReadArchiveOptions = {}): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
    const { ignore = [] } = options;
    return toReadableStream(await this.#archives.read(path, { ...this.#call("files.readArchive", path, options), ignore }));
  }

  /**
   * Unpack a tar archive into a directory, which is made when missing; all that is made belongs to the user. It is sent as it comes and
   * has no time limit unless `requestTimeoutMs` is given. When it fails, what was unpacked before stays. `uploadDir` of the entry `./node`
   * makes archives.
   *
   * @throws {@link InvalidArgumentError} the data is no tar archive, or an entry leads out of the directory.
   */
  async writeArchive(path: string, archive: FileData, options: FileOptions = {}): Promise<void> {
    await this.#archives.write(path, toChunks(toFileBody(archive)), this.#call("files.writeArchive", path, options));
  }

  /** Watch a directory. Resolves when every later change will be seen. */
  async watchDir(path: string, onEvent: WatchCallback, options: WatchOptions = {}): Promise<WatchHandle> {
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_WATCH_TIMEOUT_MS;
    const { recursive = false, includeEntry = false, allowNetworkMounts = false } = options;
    this.#require(recursive, DAEMON_FEATURES.recursiveWatch, "recursive watches");
    this.#require(includeEntry, DAEMON_FEATURES.watchEntries, "includeEntry");
    this.#require(allowNetworkMounts, DAEMON_FEATURES.watchNetworkMounts, "allowNetworkMounts");
    const stream = await this.#entries.watch(
      { path, isRecursive: recursive, includeEntry, allowNetworkMounts },
      { ...this.#call("files.watchDir", path, options), timeoutMs },
    );
    return new WatchHandle(stream, onEvent, options.onExit);
  }

  async #write(operation: string, files: readonly FileWriteEntry[], options: FileWriteOptions = {}): Promise<WriteInfo[]> {
    const metadataHeaders = toMetadataHeaders(options.metadata);
    this.#require(Object.keys(metadataHeaders).length > 0, DAEMON_FEATURES.fileMetadata, "file metadata");
    const entries = files.map(({ path, data }) => {
      assertText("path", path);
      return { path, body: toFileBody(data) };
    });
    const { signal, requestTimeoutMs, gzip, useOctetStream } = options;
    const user = this.#user(options.user);
    return this.#transfer.write(entries, { operation, signal, requestTimeoutMs, user, gzip, useOctetStream, metadataHeaders });
  }

  #call(operation: string, path: string, { signal, requestTimeoutMs, user }: FileOptions) {
    assertText("path", path);
    return { operation, signal, requestTimeoutMs, user: this.#user(user) };
  }

  /** Old daemons have no default user, so one is named. */
  #user(user: string | undefined): string | undefined {
    return checkUser(user) ?? (isVersionAtLeast(this.#envdVersion, DAEMON_FEATURES.defaultUser) ? undefined : "user");
  }

  #require(isWanted: boolean, minimum: string, what: string): void {
    if (!isWanted || isVersionAtLeast(this.#envdVersion, minimum)) return;
    throw new UnimplementedError(
      `the daemon (version ${this.#envdVersion}) is too old for ${what}; it needs ${minimum}: rebuild the template`,
    );
  }
}

async function* toChunks(body: FileBody): AsyncGenerator<Uint8Array, void, undefined> {
  if (isBytes(body)) yield body;
  else yield* body;
}

function assertDistinct(files: readonly FileWriteEntry[]): void {
  const seen = new Set<string>();
  for (const { path } of files) {
    assertText("path", path);
    const normal = path
      .split("/")
      .filter((part, index) => part !== "." && (part !== "" || index === 0))
      .join("/");
    if (seen.has(normal)) throw new InvalidArgumentError(`two files have the path ${JSON.stringify(path)}; give each path once`);
    seen.add(normal);
  }
}
