import { lstat, mkdir, open } from "node:fs/promises";
import { FailedPreconditionError } from "../errors/error-classes.js";

const OTHERS_MAY_WRITE = 0o022;
const OTHERS_MAY_ANYTHING = 0o077;

/**
 * Make a directory that only this user can change, or check that an existing one is so.
 *
 * @throws {@link FailedPreconditionError} it belongs to somebody else, others may write to it, or it is not a directory.
 */
export async function openPrivateDir(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const stats = await lstat(directory);
  if (!stats.isDirectory()) throw unsafe(directory, "is not a directory");
  assertOwner(directory, stats.uid);
  if ((stats.mode & OTHERS_MAY_WRITE) !== 0) throw unsafe(directory, "can be written by other users");
}

/**
 * Read a file that must belong to this user and be closed to others; `undefined` when there is none.
 *
 * @throws {@link FailedPreconditionError} the file belongs to somebody else or others may read it.
 */
export async function readPrivateFile(filePath: string): Promise<string | undefined> {
  const handle = await open(filePath, "r").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    // Checked on the open file, so nobody can swap it between check and read.
    const stats = await handle.stat();
    assertOwner(filePath, stats.uid);
    if ((stats.mode & OTHERS_MAY_ANYTHING) !== 0) throw unsafe(filePath, "can be read by other users");
    return await handle.readFile("utf8");
  } finally {
    await handle.close();
  }
}

function assertOwner(subject: string, uid: number): void {
  const own = process.getuid?.();
  if (own !== undefined && uid !== own) throw unsafe(subject, `belongs to the user with id ${uid}`);
}

function unsafe(subject: string, fault: string): FailedPreconditionError {
  return new FailedPreconditionError(`${subject} ${fault}; remove it, or set AGENT_SANDBOX_RUN_DIR to a directory of your own`, {
    operation: "localPlatform",
  });
}
