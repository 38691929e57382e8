import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { type FileHandle, lchown, lstat, mkdir, open, readdir, readlink, rename, unlink } from "node:fs/promises";
import { FileNotFoundError, InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import { type ConfinedEntry, openConfined } from "../../shared/confined-path-node.js";

/** A file, directory or link of a volume. */
export interface VolumeEntry {
  /** Path from the root of the volume, with a slash in front. */
  readonly path: string;
  readonly stat: Stats;
  /** What a link points to. */
  readonly target: string | undefined;
}

/** Owner inside sandboxes and permissions of something new. */
export interface VolumeEntryOwner {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

const MAX_LISTED = 100_000;
const ID_RANGE = 65_536;
/** Id inside that stands for every id that is not mapped. */
const NOBODY = 65_534;
// Without O_NONBLOCK a pipe of a guest would hold up the open, and a thread, for ever.
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Reads and writes one volume. Everything in it is in the hands of guests, so every path goes through {@link openConfined}.
 *
 * A promise must be awaited before the entry that it works on is closed, hence each `return await`: a descriptor's number is used again at once.
 */
export class VolumeTree {
  readonly #root: string;
  readonly #hostIdBase: number;

  constructor(root: string, hostIdBase: number) {
    this.#root = root;
    this.#hostIdBase = hostIdBase;
  }

  async stat(path: string): Promise<VolumeEntry> {
    await using entry = await openConfined(this.#root, path, { followsLast: false });
    return await describe(entry.hostPath, toCleanPath(path));
  }

  async list(path: string, depth: number): Promise<VolumeEntry[]> {
    await using entry = await openConfined(this.#root, path, { followsLast: true });
    const entries: VolumeEntry[] = [];
    await listInto(entries, entry.hostPath, toCleanPath(path), depth);
    return entries;
  }

  /** @param isForced make missing parents and accept a directory that exists. */
  async makeDirectory(path: string, owner: VolumeEntryOwner, isForced: boolean): Promise<VolumeEntry> {
    await using entry = await this.#openParent(path, owner, isForced);
    try {
      await mkdir(entry.hostPath);
    } catch (error) {
      const isThere = (error as NodeJS.ErrnoException).code === "EEXIST" && (await lstat(entry.hostPath)).isDirectory();
      if (!isThere || !isForced) throw error;
      return await describe(entry.hostPath, toCleanPath(path));
    }
    await using handle = await open(entry.hostPath, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    await this.#give(handle, owner);
    return await describe(entry.hostPath, toCleanPath(path));
  }

  /** Open a regular file for reading. */
  async openFile(path: string): Promise<FileHandle> {
    await using entry = await openConfined(this.#root, path, { followsLast: true });
    const handle = await open(entry.hostPath, OPEN_FILE);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw new InvalidArgumentError(`"${path}" is not a regular file`);
  }

  /** Write a file; it takes its name when all of it is there. */
  async writeFile(path: string, chunks: AsyncIterable<Uint8Array>, owner: VolumeEntryOwner, isForced: boolean): Promise<VolumeEntry> {
    await using entry = await this.#openParent(path, owner, isForced);
    const staged = `/proc/self/fd/${entry.directory.fd}/.upload-${randomBytes(8).toString("hex")}`;
    try {
      await using handle = await open(staged, CREATE_FILE, 0o600);
      for await (const chunk of chunks) await handle.writeFile(chunk);
      await this.#give(handle, owner);
      await rename(staged, entry.hostPath);
    } catch (error) {
      await unlink(staged).catch(() => undefined);
      throw error;
    }
    return await describe(entry.hostPath, toCleanPath(path));
  }

  async update(path: string, change: Partial<VolumeEntryOwner>): Promise<VolumeEntry> {
    await using entry = await openConfined(this.#root, path, { followsLast: false });
    const { uid, gid, mode } = change;
    const stat = await lstat(entry.hostPath);
    if (uid !== undefined || gid !== undefined) {
      await lchown(entry.hostPath, this.#shift(uid) ?? stat.uid, this.#shift(gid) ?? stat.gid);
    }
    if (mode !== undefined) {
      await using handle = await open(entry.hostPath, OPEN_FILE);
      await handle.chmod(mode);
    }
    return await describe(entry.hostPath, toCleanPath(path));
  }

  async remove(path: string): Promise<void> {
    await using entry = await openConfined(this.#root, path, { followsLast: false });
    if (entry.name === ".") throw new InvalidArgumentError("the root of a volume cannot be removed; delete the volume");
    await lstat(entry.hostPath);
    await removeIn(entry);
  }

  /** Owner inside of sandboxes of a host id. */
  toInnerId(hostId: number): number {
    const id = hostId - this.#hostIdBase;
    return id >= 0 && id < ID_RANGE ? id : NOBODY;
  }

  async #openParent(path: string, owner: VolumeEntryOwner, isForced: boolean): Promise<ConfinedEntry> {
    const give = async (hostPath: string) => {
      await using handle = await open(hostPath, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      await this.#give(handle, { ...owner, mode: 0o755 });
    };
    const entry = await openConfined(this.#root, path, { followsLast: false, ...(isForced && { onMissing: give }) });
    if (entry.name !== ".") return entry;
    await entry[Symbol.asyncDispose]();
    throw new InvalidArgumentError(`"${path}" names no entry of a directory`);
  }

  async #give(handle: FileHandle, { uid, gid, mode }: VolumeEntryOwner): Promise<void> {
    await handle.chown(this.#hostIdBase + uid, this.#hostIdBase + gid);
    await handle.chmod(mode);
  }

  #shift(id: number | undefined): number | undefined {
    return id === undefined ? undefined : this.#hostIdBase + id;
  }
}

async function describe(hostPath: string, path: string): Promise<VolumeEntry> {
  const stat = await lstat(hostPath);
  return { path, stat, target: stat.isSymbolicLink() ? await readlink(hostPath) : undefined };
}

async function listInto(entries: VolumeEntry[], hostPath: string, path: string, depth: number): Promise<void> {
  await using directory = await open(hostPath, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const opened = `/proc/self/fd/${directory.fd}`;
  for (const name of (await readdir(opened)).sort()) {
    if (entries.length >= MAX_LISTED) throw new InvalidArgumentError(`more than ${MAX_LISTED} entries; list with a smaller depth`);
    const child = `${path === "/" ? "" : path}/${name}`;
    const entry = await describeOrUndefined(`${opened}/${name}`, child);
    if (entry === undefined) continue;
    entries.push(entry);
    if (depth > 1 && entry.stat.isDirectory()) await listInto(entries, `${opened}/${name}`, child, depth - 1);
  }
}

/** `undefined` for what a guest removed meanwhile. */
async function describeOrUndefined(hostPath: string, path: string): Promise<VolumeEntry | undefined> {
  try {
    return await describe(hostPath, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** rm(1) walks by descriptor, so it follows no link that a guest puts in its way, and paths may be of any length. */
async function removeIn({ directory, name }: ConfinedEntry): Promise<void> {
  const child = spawn("rm", ["-rf", "--one-file-system", "--", `./${name}`], { cwd: `/proc/self/fd/${directory.fd}`, stdio: "ignore" });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  if (code !== 0) throw new InternalError(`"${name}" could not be removed completely`);
}

function toCleanPath(path: string): string {
  const kept: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") kept.pop();
    else if (part !== "" && part !== ".") kept.push(part);
  }
  return `/${kept.join("/")}`;
}

/** Turn an error of the file system into one of the contract. */
export function toVolumeError(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  switch (code) {
    case "ENOENT":
      return new FileNotFoundError(`"${path}" was not found in the volume`);
    case "EEXIST":
      return new InvalidArgumentError(`"${path}" exists already`);
    case "ENOTDIR":
      return new InvalidArgumentError(`a part of "${path}" is not a directory`);
    case "EISDIR":
    case "ENOTEMPTY":
      return new InvalidArgumentError(`"${path}" is a directory`);
    case "ELOOP":
      return new InvalidArgumentError(`"${path}" is a link`);
    case "ENAMETOOLONG":
      return new InvalidArgumentError(`a part of "${path.slice(0, 100)}" is longer than 255 bytes`);
    case "ENXIO":
      return new InvalidArgumentError(`"${path}" is not a regular file`);
    default:
      return error;
  }
}
