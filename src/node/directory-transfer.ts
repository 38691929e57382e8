import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { FailedPreconditionError, FileNotFoundError, InvalidArgumentError } from "../errors/error-classes.js";
import type { FileOptions, Files } from "../sandbox/files.js";
import { fromReadableStream } from "../shared/byte-stream.js";
import { createIgnoreRules } from "../shared/ignore-rules.js";
import { extractTar, type OutsideLinks } from "../shared/tar-extract-node.js";
import { packTar } from "../shared/tar-pack-node.js";

/** How far a directory is. */
export interface DirectoryProgress {
  /** The entry that was worked on, relative to the directory. */
  readonly path: string;
  /** Entries that are complete. */
  readonly entryCount: number;
  /** Bytes of content so far. */
  readonly bytes: number;
}

/** What was carried. */
export type DirectoryResult = Pick<DirectoryProgress, "entryCount" | "bytes">;

/** How a directory is carried. `requestTimeoutMs` limits the whole of it; without it there is no limit. */
export interface DirectoryOptions extends FileOptions {
  /** Patterns of what to leave out, relative to the directory, in the form of `.gitignore`. @defaultValue nothing */
  readonly ignore?: readonly string[] | undefined;
  /** Called after each entry, and after each piece of a large file. What it throws ends the transfer. */
  readonly onProgress?: ((progress: DirectoryProgress) => void) | undefined;
}

export interface DownloadDirOptions extends DirectoryOptions {
  /**
   * Symbolic links that lead out of the directory, to absolute paths too: a program that follows one would read this machine's files for the
   * sandbox's. `skip` leaves them out, `keep` makes them as they are. @defaultValue "refuse", the download fails
   */
  readonly outsideLinks?: OutsideLinks | undefined;
  /** Most bytes of content that may arrive. @defaultValue no limit */
  readonly maxBytes?: number | undefined;
}

/** What the functions here need of a sandbox. */
export interface SandboxWithFiles {
  readonly files: Pick<Files, "readArchive" | "writeArchive">;
}

/**
 * Copy what is in the local directory into a directory of the sandbox, which is made when missing; what has the same path is replaced.
 *
 * Permission bits, times, symbolic and hard links are kept, owner is the user. It is sent as it is read, never held whole. Sockets, pipes,
 * devices and names that are not UTF-8 are left out.
 *
 * @throws {@link FileNotFoundError} there is no such local directory; {@link FailedPreconditionError} a file shrank meanwhile; Node's
 * system error for what cannot be read; what `files.writeArchive` throws.
 */
export async function uploadDir(
  sandbox: SandboxWithFiles,
  localDir: string,
  remotePath: string,
  options: DirectoryOptions = {},
): Promise<DirectoryResult> {
  const { ignore = [], onProgress, ...call } = options;
  const rules = createIgnoreRules(ignore);
  await assertLocalDirectory(localDir);
  const counter = new Counter(onProgress);
  await sandbox.files.writeArchive(remotePath, packTar(path.resolve(localDir), { rules, onProgress: counter.add }), call);
  return counter.result;
}

/**
 * Copy what is in a directory of the sandbox into the local directory, which is made when missing; what has the same path is replaced.
 *
 * Permission bits, times, symbolic and hard links are kept; owners, setuid bits, pipes and devices are left out. The sandbox is not trusted:
 * nothing outside of `localDir` is written, no link below it is followed. When it fails, the files that were complete stay.
 *
 * @throws {@link FileNotFoundError} there is no such directory in the sandbox; {@link InvalidArgumentError} the sandbox sent an entry that
 * leads out; {@link FailedPreconditionError} more than `maxBytes` came; Node's system error for what cannot be written.
 */
export async function downloadDir(
  sandbox: SandboxWithFiles,
  remotePath: string,
  localDir: string,
  options: DownloadDirOptions = {},
): Promise<DirectoryResult> {
  const { ignore = [], onProgress, outsideLinks = "refuse", maxBytes = Number.POSITIVE_INFINITY, ...call } = options;
  if (!["refuse", "skip", "keep"].includes(outsideLinks)) {
    throw new InvalidArgumentError(`outsideLinks must be "refuse", "skip" or "keep", not ${JSON.stringify(outsideLinks)}`);
  }
  if (!(maxBytes >= 0)) throw new InvalidArgumentError(`maxBytes must be a number of at least 0, not ${String(maxBytes)}`);
  const rules = createIgnoreRules(ignore);
  const counter = new Counter(onProgress, maxBytes);
  const archive = await sandbox.files.readArchive(remotePath, { ...call, ignore });
  try {
    await mkdir(localDir, { recursive: true });
  } catch (error) {
    await archive.cancel(error);
    throw error;
  }
  await extractTar(fromReadableStream(archive), localDir, {
    outsideLinks,
    // The daemon is not trusted to have left them out.
    isIgnored: rules.isIgnored,
    onProgress: counter.add,
    stagedPath: (target) => path.join(path.dirname(target), `.agent-sandbox-download-${crypto.randomUUID()}`),
  });
  return counter.result;
}

class Counter {
  readonly #onProgress: ((progress: DirectoryProgress) => void) | undefined;
  readonly #maxBytes: number;
  #entryCount = 0;
  #bytes = 0;

  constructor(onProgress: ((progress: DirectoryProgress) => void) | undefined, maxBytes = Number.POSITIVE_INFINITY) {
    this.#onProgress = onProgress;
    this.#maxBytes = maxBytes;
  }

  get result(): DirectoryResult {
    return { entryCount: this.#entryCount, bytes: this.#bytes };
  }

  readonly add = (entryPath: string, bytes: number, isComplete: boolean): void => {
    this.#bytes += bytes;
    if (isComplete) this.#entryCount += 1;
    if (this.#bytes > this.#maxBytes) throw new FailedPreconditionError(`the directory holds more than maxBytes (${this.#maxBytes})`);
    this.#onProgress?.({ path: entryPath, entryCount: this.#entryCount, bytes: this.#bytes });
  };
}

async function assertLocalDirectory(localDir: string): Promise<void> {
  const stats = await stat(localDir).catch((cause: unknown) => {
    throw new FileNotFoundError(`the local directory '${localDir}' cannot be read`, { cause });
  });
  if (!stats.isDirectory()) throw new InvalidArgumentError(`the local path '${localDir}' is not a directory`);
}
