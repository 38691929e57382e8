import { InvalidArgumentError } from "../errors/error-classes.js";
import { assertText } from "./text-check.js";

/** Linux refuses one argument or variable above 32 pages, its final NUL included (execve(2), MAX_ARG_STRLEN). */
export const MAX_ARGUMENT_BYTES = 131_071;

/**
 * Refuse variables that the kernel would cut, mix up or refuse itself.
 *
 * @throws {@link InvalidArgumentError} naming the variable.
 */
export function assertEnvironment(vars: Iterable<readonly [string, string]>): void {
  for (const [name, value] of vars) {
    const shown = `environment variable '${name.slice(0, 64)}'`;
    if (name === "" || name.includes("=")) throw new InvalidArgumentError(`${shown} has no valid name: it must not be empty nor hold "="`);
    if (name.includes("\0") || value.includes("\0")) throw new InvalidArgumentError(`${shown} holds NUL, which no environment can`);
    assertText(`the name of ${shown}`, name);
    assertText(shown, value);
    if (Buffer.byteLength(name) + 1 + Buffer.byteLength(value) > MAX_ARGUMENT_BYTES) {
      throw new InvalidArgumentError(`${shown} exceeds the size limit of ${MAX_ARGUMENT_BYTES} bytes: pass it in a file`);
    }
  }
}
