import { execFile } from "node:child_process";
import { lstat, readdir, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { InternalError } from "../../errors/error-classes.js";
import type { SandboxError } from "../../errors/sandbox-error.js";
import type { User } from "../user-database.js";
import { ensureDirectory } from "./directories.js";
import { errnoCode, fileError, WrongKindError } from "./file-error.js";

const run = promisify(execFile);

/**
 * Give what is at `source` the path `destination`, replacing a file there; missing parents of the destination are made for `user`.
 *
 * `rename(2)` where it works. Across file systems, and for directories of a read-only overlay layer, it is a copy and a removal by
 * `mv`, which keeps owners, times and attributes but is not atomic.
 *
 * @throws {@link FileNotFoundError} nothing is at `source`; {@link WrongKindError} a path is one of which rename(2) says so;
 * {@link InternalError} the system refused.
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
    await assertReplaceable(source, destination);
    await run("mv", ["-T", "-f", "--", source, destination]).catch((cause: unknown) => {
      throw refusal(source, destination, cause);
    });
  }
}

/** What rename(2) says about paths of the wrong kind. */
const WRONG_KIND: Readonly<Record<string, string>> = {
  EISDIR: "there is a directory, which a file does not replace",
  ENOTDIR: "there is a file, which a directory does not replace, or a parent is a file",
  ENOTEMPTY: "there is a directory that is not empty",
  EEXIST: "there is a directory that is not empty",
  EINVAL: "a directory cannot be moved into itself",
};

/** The rules of rename(2), which `mv` tells in words only. */
async function assertReplaceable(source: string, destination: string): Promise<void> {
  const [from, to] = await Promise.all([lstat(source), lstat(destination).catch(() => undefined)]);
  if (to === undefined) return;
  const fail = (code: string) => refusal(source, destination, Object.assign(new Error(code), { code }));
  if (to.isDirectory() && !from.isDirectory()) throw fail("EISDIR");
  if (!to.isDirectory() && from.isDirectory()) throw fail("ENOTDIR");
  if (to.isDirectory() && (await readdir(destination)).length > 0) throw fail("ENOTEMPTY");
}

function refusal(source: string, destination: string, cause: unknown): SandboxError {
  const code = errnoCode(cause) ?? (cause instanceof Error ? cause.message : String(cause));
  const what = `cannot move '${source}' to '${destination}'`;
  const why = Object.hasOwn(WRONG_KIND, code) ? WRONG_KIND[code] : undefined;
  return why === undefined ? new InternalError(`${what}: ${code}`, { cause }) : new WrongKindError(`${what}: ${why}`, { cause });
}
