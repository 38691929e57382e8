import { mkdir, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { FailedPreconditionError } from "../index.js";
import { takeProcessLock } from "../shared/process-lock-node.js";
import { replaceFile } from "../shared/replace-file-node.js";

export interface ChangeFileOptions {
  /** Mode of the file afterwards. @defaultValue that which it has, and 0600 for a new one */
  readonly mode?: number;
  /** Mode of its directory where that is made. @defaultValue what the umask leaves */
  readonly directoryMode?: number;
}

/** Milliseconds for which others may hold the file. */
const LOCK_MS = 10_000;
const NEW_FILE_MODE = 0o600;

/**
 * Change a file of settings. Programs that do so at the same time come one after the other, so no change is lost; a reader never sees half a file,
 * a link to the file stays one, and nothing is left over when it fails. `change` gets the empty text where there is no file.
 *
 * @throws {@link FailedPreconditionError} another program holds the file; what `change` throws; Node's system error.
 */
export async function changeFile(file: string, change: (text: string) => string, options: ChangeFileOptions = {}): Promise<void> {
  const found = await readTextFile(file);
  if (change(found) === found) return;
  const { directoryMode } = options;
  await mkdir(path.dirname(file), { recursive: true, ...(directoryMode !== undefined && { mode: directoryMode }) });
  const target = await realpath(file).catch(() => file);
  const lock = await takeProcessLock(`${target}.lock`, async () => false, AbortSignal.timeout(LOCK_MS)).catch((cause: Error) => {
    if (cause.name !== "TimeoutError") throw cause;
    throw new FailedPreconditionError(`another program is changing ${target}; try again when it is done`, { cause });
  });
  try {
    await replaceFile(target, change(await readTextFile(target)), options.mode ?? (await modeOf(target)));
  } finally {
    await lock?.release();
  }
}

/** The text of a file, and the empty one where there is none. */
export async function readTextFile(file: string): Promise<string> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return "";
    throw error;
  });
}

async function modeOf(file: string): Promise<number> {
  return stat(file).then(
    (stats) => stats.mode & 0o777,
    () => NEW_FILE_MODE,
  );
}
