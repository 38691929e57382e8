import { DatabaseSync } from "node:sqlite";
import { AlreadyExistsError } from "../errors/error-classes.js";

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
    throw new AlreadyExistsError(`a platform runs already in this run directory (${file}); stop it first or use it`, { cause });
  }
  return { release: () => database.close() };
}
