import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, realpath, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { FileWriter } from "../../shared/file-writer-node.js";
import { ensureDirectory } from "../filesystem/directories.js";
import type { FileContext } from "../filesystem/file-context.js";
import { errnoCode, fileError } from "../filesystem/file-error.js";
import type { User } from "../user-database.js";
import { openStaged, own } from "./staged-file.js";

/** Bodies up to this size are complete in memory before the target is touched. */
const SMALL_BYTES = 1024 * 1024;

export interface StoreOptions {
  /** Owner of the file and of the parents that are made for it. */
  readonly user: User;
  /** Replaces the metadata that the file has. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly context: FileContext;
}

/**
 * Make the file at `path` hold exactly `body`; resolves once it is closed. A link is written through.
 *
 * A body that breaks off never leaves a short file: a small one is complete before the target is opened, a large one grows under a
 * hidden name beside the target and takes its place when it is complete, with the mode of what it replaces. Only what a rename would
 * change (a file with several names, a link to nothing, a file that is mounted by itself) is written in place.
 *
 * @throws {@link InvalidArgumentError} the target is no regular file, or a parent no directory; {@link NotEnoughSpaceError} the disk
 * is full; what reading `body` throws.
 */
export async function storeFile(path: string, body: AsyncIterable<Uint8Array>, options: StoreOptions): Promise<void> {
  try {
    const existing = await statIfPresent(path);
    if (existing !== undefined && !existing.isFile()) {
      throw new InvalidArgumentError(`path '${path}' is ${existing.isDirectory() ? "a directory" : "not a regular file"}`);
    }
    const chunks = body[Symbol.asyncIterator]();
    try {
      await storeChunks(path, existing, chunks, options);
    } finally {
      await chunks.return?.();
    }
  } catch (error) {
    if (errnoCode(error) === "ENOTDIR") throw new InvalidArgumentError(`a parent of '${path}' is not a directory`, { cause: error });
    throw fileError(error, "write", path);
  }
}

type Chunks = AsyncIterator<Uint8Array>;

async function storeChunks(path: string, existing: Stats | undefined, chunks: Chunks, options: StoreOptions): Promise<void> {
  const head = await readHead(chunks);
  const target = head.isWhole ? undefined : await replaceableTarget(path, existing);
  if (target === undefined) await writeInPlace(path, existing, head.chunks, chunks, options);
  else await writeStaged(target, existing, head.chunks, chunks, options);
}

async function readHead(chunks: Chunks): Promise<{ readonly chunks: Uint8Array[]; readonly isWhole: boolean }> {
  const head: Uint8Array[] = [];
  for (let size = 0; size <= SMALL_BYTES; ) {
    const { value, done } = await chunks.next();
    if (done) return { chunks: head, isWhole: true };
    head.push(value);
    size += value.length;
  }
  return { chunks: head, isWhole: false };
}

/** The path that a rename may replace, `undefined` where only writing in place keeps what is there. */
async function replaceableTarget(path: string, existing: Stats | undefined): Promise<string | undefined> {
  if (existing !== undefined) return existing.nlink === 1 ? realpath(path) : undefined;
  const isLinkToNothing = await lstat(path).then(
    () => true,
    () => false,
  );
  return isLinkToNothing ? undefined : path;
}

async function writeInPlace(
  path: string,
  existing: Stats | undefined,
  head: Uint8Array[],
  chunks: Chunks,
  options: StoreOptions,
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK;
  const file = await openWithParents(path, flags, options.user);
  try {
    own(file, options.user);
    await writeBody(file, head, chunks);
    options.context.metadata.replace(path, options.metadata);
    await file.close();
  } catch (error) {
    await file.close().catch(() => {});
    if (existing === undefined) await unlink(path).catch(() => {});
    throw error;
  }
}

async function writeStaged(
  target: string,
  existing: Stats | undefined,
  head: Uint8Array[],
  chunks: Chunks,
  options: StoreOptions,
): Promise<void> {
  await using staged = await openStaged(target, options);
  const { file } = staged;
  if (existing !== undefined) await file.chmod(existing.mode & 0o7777);
  await writeBody(file, head, chunks);
  options.context.metadata.replace(staged.path, options.metadata);
  await staged.takePlace(target);
}

async function writeBody(file: FileHandle, head: Uint8Array[], chunks: Chunks): Promise<void> {
  const writer = new FileWriter(file);
  try {
    for (const chunk of head) await writer.add(chunk);
    for (;;) {
      const { value, done } = await chunks.next();
      if (done) break;
      await writer.add(value);
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

async function openWithParents(path: string, flags: number, user: User): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o666);
  } catch (error) {
    if (errnoCode(error) !== "ENOENT") throw error;
  }
  await ensureDirectory(dirname(path), user);
  return open(path, flags, 0o666);
}

async function statIfPresent(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (errnoCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
