import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readlink } from "node:fs/promises";
import { FileNotFoundError, InvalidArgumentError } from "../errors/error-classes.js";

/** An open directory inside a confined tree, and a name in it that stands for the path that was asked for. */
export interface ConfinedEntry extends AsyncDisposable {
  readonly directory: FileHandle;
  /** One path segment; `.` for the directory itself. */
  readonly name: string;
  /** A path that leads to exactly this entry, for calls that do not follow a link at the end. */
  readonly hostPath: string;
}

export interface ConfinedOptions {
  /** Resolve a link at the end as well. */
  readonly followsLast: boolean;
  /** Called for a directory that was missing and is there now, as a path like {@link ConfinedEntry.hostPath}. Absent: a missing one is an error. */
  readonly onMissing?: (hostPath: string) => Promise<void>;
}

/** As many as the kernel follows (path_resolution(7)). */
const MAX_LINKS = 40;
const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Resolve a path as if `root` were the root of the file system: neither `..` nor a link leads out, also while a guest moves things around.
 *
 * Node has no openat(2), but `/proc/self/fd/<fd>/<name>` means the same: each directory is opened by one name relative to its parent, with links
 * refused, and what a link says is resolved by the same steps.
 *
 * @throws {@link FileNotFoundError} a directory on the way is missing; {@link InvalidArgumentError} the path is malformed, a part of it
 * is no directory, or links go round in a circle.
 */
export async function openConfined(root: string, path: string, options: ConfinedOptions): Promise<ConfinedEntry> {
  assertPath(path);
  const opened: FileHandle[] = [await open(root, OPEN_DIRECTORY)];
  const close = async () => {
    await Promise.all(opened.splice(0).map((handle) => handle.close()));
  };
  try {
    return await walk(opened, path, options, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function walk(
  opened: FileHandle[],
  path: string,
  { followsLast, onMissing }: ConfinedOptions,
  close: () => Promise<void>,
): Promise<ConfinedEntry> {
  const top = () => opened[opened.length - 1] as FileHandle; // the root is never popped
  const found = (name: string): ConfinedEntry => ({
    directory: top(),
    name,
    hostPath: toHostPath(top(), name),
    [Symbol.asyncDispose]: close,
  });
  const rest = split(path);
  let links = 0;
  for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
    if (part === "..") {
      if (opened.length > 1) await opened.pop()?.close();
      continue;
    }
    const isLast = rest.length === 0;
    if (isLast && !followsLast) return found(part);
    const hostPath = toHostPath(top(), part);
    const stat = await lstatOrUndefined(hostPath);
    if (stat?.isSymbolicLink()) {
      links += 1;
      if (links > MAX_LINKS) throw new InvalidArgumentError(`too many links on the way to "${path}"`);
      const target = await readlink(hostPath);
      if (target.startsWith("/")) for (const handle of opened.splice(1)) await handle.close();
      rest.unshift(...split(target));
      continue;
    }
    if (isLast) return found(part);
    if (stat === undefined) {
      if (onMissing === undefined) throw new FileNotFoundError(`"${part}" on the way to "${path}" does not exist`);
      if (await makeDirectory(hostPath)) await onMissing(hostPath);
    }
    opened.push(await open(hostPath, OPEN_DIRECTORY));
  }
  return found(".");
}

function assertPath(path: string): void {
  if (path.includes("\0")) throw new InvalidArgumentError("the path holds NUL, which no file name can");
  if (Buffer.byteLength(path) > 4_096) throw new InvalidArgumentError("the path is longer than 4096 bytes");
}

function split(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function toHostPath(directory: FileHandle, name: string): string {
  return `/proc/self/fd/${directory.fd}/${name}`;
}

/** False when somebody else was quicker; what they made is looked at like everything on the way. */
async function makeDirectory(hostPath: string): Promise<boolean> {
  try {
    await mkdir(hostPath);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function lstatOrUndefined(hostPath: string) {
  try {
    return await lstat(hostPath);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
