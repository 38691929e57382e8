import { constants, fchownSync, fstatSync, statSync } from "node:fs";
import { copyFile, type FileHandle, open, rename, unlink } from "node:fs/promises";
import { constants as system } from "node:os";
import { dirname } from "node:path";
import { ensureDirectory } from "../filesystem/directories.js";
import type { FileContext } from "../filesystem/file-context.js";
import { errnoCode } from "../filesystem/file-error.js";
import { stagedPath } from "../filesystem/staged-name.js";
import type { Libc } from "../native/libc.js";
import type { User } from "../user-database.js";

/** Content that grows unseen. Disposed without {@link StagedFile.takePlace}, nothing of it stays. */
export interface StagedFile extends AsyncDisposable {
  readonly file: FileHandle;
  /** Leads to the file for calls that take no handle. */
  readonly path: string;
  /** Give the file its name, in place of a file or link that has it. */
  takePlace(target: string): Promise<void>;
}

/** Where nameless files are opened, because those who watch the directory see events of them: nobody watches this one. */
const NAMELESS_DIRECTORY = "/var/lib";

/** `__O_TMPFILE | O_DIRECTORY` (open(2)); Node has no name for it. The first is the same on the architectures that Node supports. */
const O_TMPFILE = 0o20_000_000 | constants.O_DIRECTORY;
const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;

/**
 * Open a new file, owned by the user, that can take its place at `target`; missing parents are made.
 *
 * It has no name where the file system can do that, so a daemon that is killed leaves nothing. Elsewhere it has a hidden one beside the
 * target.
 */
export async function openStaged(
  target: string,
  { user, context }: { readonly user: User; readonly context: FileContext },
): Promise<StagedFile> {
  const directory = dirname(target);
  await ensureDirectory(directory, user);
  const staged = (await openUnnamed(directory, context)) ?? (await openNamed(target));
  own(staged.file, user);
  return staged;
}

/**
 * Make `user` the owner. Changing the owner to itself would be an event for those who watch. Synchronous: on an open file both calls cost
 * less than a trip through the thread pool.
 */
export function own(file: FileHandle, user: User): void {
  const { uid, gid } = fstatSync(file.fd);
  if (uid !== user.uid || gid !== user.gid) fchownSync(file.fd, user.uid, user.gid);
}

async function openUnnamed(directory: string, context: FileContext): Promise<StagedFile | undefined> {
  let libc: Libc;
  let file: FileHandle;
  try {
    if (statSync(directory).dev !== statSync(NAMELESS_DIRECTORY).dev) return undefined;
    libc = context.libc.load();
    file = await open(NAMELESS_DIRECTORY, O_TMPFILE | constants.O_RDWR, 0o666);
  } catch {
    // No such directory, no bridge to the C library, or a file system without such files. What else is wrong shows up with a name too.
    return undefined;
  }
  const path = `/proc/self/fd/${file.fd}`;
  const link = (name: string): void => {
    if (libc.linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) !== 0) throw systemError(libc.errno(), name);
  };
  return {
    file,
    path,
    takePlace: async (target) => {
      try {
        link(target);
      } catch (error) {
        const name = stagedPath(target);
        if (errnoCode(error) === "EEXIST") link(name);
        // Two mounts of one file system.
        else if (errnoCode(error) === "EXDEV") await copyFile(path, name);
        else throw error;
        await replace(name, target);
      }
      await touch(target);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function openNamed(target: string): Promise<StagedFile> {
  const path = stagedPath(target);
  const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o666);
  let isPlaced = false;
  return {
    file,
    path,
    takePlace: async (place) => {
      isPlaced = true;
      await replace(path, place);
      await touch(place);
    },
    [Symbol.asyncDispose]: async () => {
      await file.close();
      if (!isPlaced) await unlink(path).catch(() => {});
    },
  };
}

async function replace(staged: string, target: string): Promise<void> {
  try {
    await rename(staged, target);
  } catch (error) {
    try {
      if (errnoCode(error) !== "EBUSY" && errnoCode(error) !== "EXDEV") throw error;
      // A mount point of its own cannot be replaced, only filled.
      await copyFile(staged, target);
    } finally {
      await unlink(staged);
    }
  }
}

/** Write the last byte again: who watches the target sees a write after the create. */
async function touch(target: string): Promise<void> {
  const file = await open(target, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    const last = Buffer.alloc(1);
    const { size } = fstatSync(file.fd);
    if (size === 0) return;
    await file.read(last, 0, 1, size - 1);
    await file.write(last, 0, 1, size - 1);
  } finally {
    await file.close();
  }
}

function systemError(errno: number, path: string): Error {
  const code = Object.entries(system.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;
  return Object.assign(new Error(`${code}: linkat '${path}'`), { code });
}
