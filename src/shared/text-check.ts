import { InvalidArgumentError } from "../errors/error-classes.js";

/**
 * Check a string that becomes part of a path, a command, a variable or a URL.
 *
 * NUL ends a string in the kernel and half of a surrogate pair has no UTF-8 form: either would arrive as something else.
 *
 * @throws {@link InvalidArgumentError} naming `name`.
 */
export function assertText(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") throw new InvalidArgumentError(`${name} must be a string, not ${value === null ? "null" : typeof value}`);
  if (value.includes("\0")) throw new InvalidArgumentError(`${name} must not contain a NUL character`);
  if (/\p{Surrogate}/u.test(value))
    throw new InvalidArgumentError(`${name} must be well-formed Unicode; it holds half of a surrogate pair`);
}
