import { execFile } from "node:child_process";
import { lstat, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { InternalError } from "../../errors/error-classes.js";
import type { User } from "../user-database.js";
import { ensureDirectory } from "./directories.js";
import { errnoCode, fileError } from "./file-error.js";

const run = promisify(execFile);

/**
 * Give what is at `source` the path `destination`, replacing a file there; missing parents of the destination are made for `user`.
 *
 * `rename(2)` where it works. Across file systems, and for directories of a read-only overlay layer, it is a copy and a removal by
 * `mv`, which keeps owners, times and attributes but is not atomic.
 *
 * @throws {@link FileNotFoundError} nothing is at `source`; {@link InternalError} the system refused.
 */
export async function moveEntry(source: string, destination: string, user: User): Promise<void> {
  try {
    await lstat(source);
  } catch (error) {
    throw fileError(error, "move", source);
  }
  try {
    await ensureDirectory(dirname(destination), user);
    await rename(source, destination);
  } catch (error) {
    if (errnoCode(error) !== "EXDEV") throw refusal(source, destination, error);
    await run("mv", ["-T", "-f", "--", source, destination]).catch((cause: unknown) => {
      throw refusal(source, destination, cause);
    });
  }
}

function refusal(source: string, destination: string, cause: unknown): InternalError {
  const code = errnoCode(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  return new InternalError(`cannot move '${source}' to '${destination}': ${code}`, { cause });
}
