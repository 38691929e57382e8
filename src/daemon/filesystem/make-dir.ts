import { stat } from "node:fs/promises";
import { AlreadyExistsError, InvalidArgumentError } from "../../errors/error-classes.js";
import type { User } from "../user-database.js";
import { ensureDirectory } from "./directories.js";
import { errnoCode, fileError, WrongKindError } from "./file-error.js";

/**
 * Make a directory and its missing parents for `user`.
 *
 * @throws {@link AlreadyExistsError} the directory exists; {@link InvalidArgumentError} something else is at the path;
 * {@link WrongKindError} a parent is not a directory.
 */
export async function makeDirectory(path: string, user: User): Promise<void> {
  const existing = await stat(path).catch(() => undefined);
  if (existing !== undefined && !existing.isDirectory()) throw new InvalidArgumentError(`path '${path}' exists and is not a directory`);
  let isNew: boolean;
  try {
    isNew = await ensureDirectory(path, user);
  } catch (cause) {
    if (errnoCode(cause) === "ENOTDIR") throw new WrongKindError(`cannot make directory '${path}': a parent is not a directory`, { cause });
    throw fileError(cause, "make directory", path);
  }
  if (!isNew) throw new AlreadyExistsError(`directory '${path}' already exists`);
}
