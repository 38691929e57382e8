import { constants, lstatSync, readlinkSync, type Stats } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { FailedPreconditionError } from "../errors/error-classes.js";
import type { IgnoreRules } from "./ignore-rules.js";
import { encodeTarEntry, padded, TAR_BLOCK_BYTES, type TarEntry } from "./tar-header.js";

export interface PackOptions {
  /** Entries to leave out; what is below a directory that is left out is left out with it. */
  readonly rules: IgnoreRules;
  /** Called after each entry, and after each piece of a large file. */
  readonly onProgress?: ((path: string, bytes: number, isComplete: boolean) => void) | undefined;
}

/** Small entries are gathered up to this size; large files are read in pieces of it. */
const CHUNK_BYTES = 256 * 1024;
const END_BYTES = 2 * TAR_BLOCK_BYTES;

/**
 * The entries below `directory` as a tar archive, each directory before what is in it; the directory itself has no entry.
 *
 * Links are stored as links and never followed. Sockets, pipes, devices and names that are not UTF-8 are left out, and so is what vanishes
 * meanwhile. A file that grows meanwhile is cut at the size it had when it was opened.
 *
 * @throws {@link FailedPreconditionError} a file shrank while it was read; the system error of what cannot be read.
 */
export async function* packTar(directory: string, options: PackOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const gather = new Gatherer();
  const packer = new Packer(options, gather);
  yield* packer.pack(directory, "");
  yield* gather.add(new Uint8Array(END_BYTES));
  yield* gather.rest();
}

/** Joins small pieces, so that thousands of small files do not become thousands of writes. */
class Gatherer {
  #buffer = new Uint8Array(CHUNK_BYTES);
  #length = 0;

  *add(bytes: Uint8Array): Generator<Uint8Array> {
    if (this.#length + bytes.length > CHUNK_BYTES) yield* this.rest();
    // A large piece passes as it is, behind what was gathered before it.
    if (bytes.length > CHUNK_BYTES / 2) {
      yield* this.rest();
      yield bytes;
      return;
    }
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  *rest(): Generator<Uint8Array> {
    if (this.#length === 0) return;
    yield this.#buffer.subarray(0, this.#length);
    this.#buffer = new Uint8Array(CHUNK_BYTES);
    this.#length = 0;
  }
}

class Packer {
  readonly #options: PackOptions;
  readonly #gather: Gatherer;
  /** Paths in the archive of files with several names, by device and inode. */
  readonly #firstNames = new Map<string, string>();

  constructor(options: PackOptions, gather: Gatherer) {
    this.#options = options;
    this.#gather = gather;
  }

  async *pack(directory: string, prefix: string): AsyncGenerator<Uint8Array, void, undefined> {
    let names: string[];
    try {
      names = await readdir(directory);
    } catch (error) {
      if (prefix !== "" && isGone(error)) return;
      throw error;
    }
    for (const name of names.sort()) {
      const source = join(directory, name);
      const path = prefix + name;
      const stats = statIfPresent(source);
      if (stats === undefined || this.#options.rules.isIgnored(path, stats.isDirectory())) continue;
      if (stats.isDirectory()) {
        yield* this.#head({ kind: "directory", path, stats });
        yield* this.pack(source, `${path}/`);
      } else if (stats.isSymbolicLink()) {
        yield* this.#head({ kind: "symlink", path, stats, linkPath: readlinkSync(source) });
      } else if (stats.isFile()) {
        yield* this.#file(source, path, stats);
      }
    }
  }

  *#head(entry: {
    readonly kind: Exclude<TarEntry["kind"], "other">;
    readonly path: string;
    readonly stats: Stats;
    readonly linkPath?: string;
  }): Generator<Uint8Array> {
    const { kind, path, stats, linkPath = "" } = entry;
    const sizeBytes = kind === "file" ? stats.size : 0;
    yield* this.#gather.add(encodeTarEntry({ kind, path, mode: stats.mode, sizeBytes, mtimeMs: stats.mtimeMs, linkPath }));
    if (sizeBytes === 0) this.#options.onProgress?.(path, 0, true);
  }

  async *#file(source: string, path: string, found: Stats): AsyncGenerator<Uint8Array, void, undefined> {
    const first = found.nlink > 1 ? this.#firstNames.get(identityOf(found)) : undefined;
    if (first !== undefined) {
      yield* this.#head({ kind: "hardlink", path, stats: found, linkPath: first });
      return;
    }
    const file = await openIfPresent(source);
    if (file === undefined) return;
    try {
      const stats = await file.stat();
      if (!stats.isFile()) return;
      if (stats.nlink > 1) this.#firstNames.set(identityOf(stats), path);
      yield* this.#head({ kind: "file", path, stats });
      yield* this.#content(file, source, path, stats.size);
    } finally {
      await file.close();
    }
  }

  async *#content(file: FileHandle, source: string, path: string, sizeBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let offset = 0; offset < sizeBytes; ) {
      const buffer = new Uint8Array(Math.min(CHUNK_BYTES, sizeBytes - offset));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, offset);
      if (bytesRead === 0) {
        throw new FailedPreconditionError(`'${source}' shrank from ${sizeBytes} to ${offset} bytes while it was read: try again`);
      }
      offset += bytesRead;
      yield* this.#gather.add(buffer.subarray(0, bytesRead));
      this.#options.onProgress?.(path, bytesRead, offset === sizeBytes);
    }
    yield* this.#gather.add(new Uint8Array(padded(sizeBytes) - sizeBytes));
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

/** Looked up by a name that did not survive the way through UTF-8, an entry is not found. */
function statIfPresent(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** Follows no link and waits for nobody at the other end of a pipe. */
async function openIfPresent(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** `ELOOP`: a link took the place of the file. */
function isGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";
}
