import { rm } from "node:fs/promises";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { errnoCode, fileError } from "./file-error.js";

/**
 * Remove a file, a link (not its target) or a whole tree. Nothing at the path is success.
 *
 * @throws {@link InvalidArgumentError} the path is `/`; {@link InternalError} the system refused, part of the tree may be gone.
 */
export async function removeEntry(path: string): Promise<void> {
  if (path === "/") throw new InvalidArgumentError("refusing to remove '/': name what is to go");
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    if (errnoCode(error) !== "ENOTDIR") throw fileError(error, "remove", path);
  }
}
