import { posix } from "node:path";
import { InvalidArgumentError } from "../errors/error-classes.js";
import type { User } from "./user-database.js";

/** The part of the daemon's state that path resolution depends on. */
export interface PathContext {
  /** Where an empty path leads; the user's home when the sandbox has none. */
  readonly defaultWorkdir?: string | undefined;
}

/**
 * Absolute, cleaned path inside the sandbox for a path of a request.
 *
 * Empty leads to the default working directory, else home; `~` is the user's home; everything relative is below home, never below
 * the working directory. Nothing is looked up on disk, so links stay as they are.
 *
 * @throws {@link InvalidArgumentError} the path contains NUL, or names another user's home (`~other`).
 */
export function resolvePath(path: string, user: Pick<User, "home">, context: PathContext): string {
  if (path.includes("\0")) throw new InvalidArgumentError("the path contains a NUL character");
  if (path === "") return clean(context.defaultWorkdir ? resolvePath(context.defaultWorkdir, user, {}) : user.home);
  if (path.startsWith("~")) {
    if (path !== "~" && !path.startsWith("~/")) {
      throw new InvalidArgumentError(`path '${path}' names the home of another user: use '~' or an absolute path`);
    }
    return clean(posix.join(user.home, path.slice(1)));
  }
  return clean(posix.isAbsolute(path) ? path : posix.join(user.home, path));
}

function clean(path: string): string {
  return posix.resolve("/", path);
}
