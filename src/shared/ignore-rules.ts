import ignore from "ignore";
import { InvalidArgumentError } from "../errors/error-classes.js";

/** Decides which entries of a directory tree are left out. */
export interface IgnoreRules {
  /** `path` is relative to the root of the tree, with `/` between names and neither before nor after them. */
  isIgnored(path: string, isDirectory: boolean): boolean;
}

/**
 * Rules in the form of `.gitignore` files (gitignore(5)): the last pattern that matches decides, `!` takes back, a final `/` means
 * directories only. Letters count as they are.
 *
 * @throws {@link InvalidArgumentError} a pattern is not a string or holds a line break.
 */
export function createIgnoreRules(patterns: readonly string[]): IgnoreRules {
  for (const pattern of patterns) {
    if (typeof pattern !== "string" || /[\r\n]/.test(pattern)) {
      throw new InvalidArgumentError(`each pattern of ignore must be a string of one line, not ${JSON.stringify(pattern)}`);
    }
  }
  const rules = ignore({ ignorecase: false }).add(patterns);
  return { isIgnored: (path, isDirectory) => patterns.length > 0 && rules.ignores(isDirectory ? `${path}/` : path) };
}
