import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { AlreadyExistsError } from "../errors/error-classes.js";
import { PLATFORM_FILE_NAME, parsePlatformFile } from "../shared/platform-dirs.js";
import { hasOpen } from "./data-holder.js";
import { readIfExists } from "./private-file.js";

/** Held by the one platform of a run directory. */
export interface InstanceLock {
  release(): void;
}

/**
 * Take the lock of a run directory.
 *
 * It is a file lock of SQLite, so the kernel drops it with the process, however that ends, and no stale file can bar the next start.
 *
 * @throws {@link AlreadyExistsError} another platform has it.
 */
export function acquireInstanceLock(file: string): InstanceLock {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (cause) {
    database.close();
    const pid = findLockHolder(file);
    const who = pid === undefined ? "a platform" : `a platform (pid ${pid})`;
    throw new AlreadyExistsError(`${who} runs already in this run directory (${file}); use it, or stop it first with \`abx system stop\``, {
      cause,
    });
  }
  return { release: () => database.close() };
}

/** The platform that has the lock open, by what it wrote beside it; `undefined` while it starts, and for other processes. */
export function findLockHolder(file: string): number | undefined {
  const pid = parsePlatformFile(readIfExists(join(dirname(file), PLATFORM_FILE_NAME)) ?? "")?.pid;
  return pid !== undefined && hasOpen(pid, file) ? pid : undefined;
}
