import { chown, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { User } from "../user-database.js";
import { errnoCode } from "./file-error.js";

/**
 * Make `path` and its missing parents, mode 0755, each new directory owned by `user`; what exists keeps its owner. Safe against other
 * calls that make the same directories at the same time.
 *
 * @returns whether `path` itself was made by this call.
 * @throws the system error, `ENOTDIR` when something on the way is not a directory.
 */
export async function ensureDirectory(path: string, user: User): Promise<boolean> {
  try {
    return await makeOne(path, user);
  } catch (error) {
    if (errnoCode(error) !== "ENOENT" || dirname(path) === path) throw error;
  }
  await ensureDirectory(dirname(path), user);
  return makeOne(path, user);
}

async function makeOne(path: string, user: User): Promise<boolean> {
  try {
    await mkdir(path, 0o755);
  } catch (error) {
    if (errnoCode(error) !== "EEXIST") throw error;
    if (!(await stat(path)).isDirectory()) throw Object.assign(new Error(`'${path}' is not a directory`), { code: "ENOTDIR" });
    return false;
  }
  await chown(path, user.uid, user.gid);
  return true;
}
