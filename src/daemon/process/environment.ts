import { InvalidArgumentError } from "../../errors/error-classes.js";
import { withDefaults } from "../egress/proxy-environment.js";
import type { User } from "../user-database.js";

/** PATH of a daemon that was started without one. */
export const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Linux refuses one argument or variable above 32 pages, its final NUL included (execve(2), MAX_ARG_STRLEN). */
export const MAX_ARGUMENT_BYTES = 131_071;

/**
 * Environment of a process. Later wins: the account, the defaults, the sandbox, the request; nothing of the daemon but PATH is inherited.
 */
export function processEnvironment(
  user: User,
  sandboxVars: Iterable<readonly [string, string]>,
  requestVars: Iterable<readonly [string, string]>,
  defaults: ReadonlyMap<string, string> = new Map(),
): Map<string, string> {
  return new Map<string, string>([
    ["PATH", process.env.PATH || DEFAULT_PATH],
    ["HOME", user.home],
    ["USER", user.name],
    ["LOGNAME", user.name],
    ...withDefaults(defaults, new Map([...sandboxVars, ...requestVars])),
  ]);
}

/**
 * Refuse variables that the kernel would cut or mix up.
 *
 * @throws {@link InvalidArgumentError} naming the variable.
 */
export function assertEnvironment(vars: Iterable<readonly [string, string]>): void {
  for (const [name, value] of vars) {
    if (name === "" || name.includes("="))
      throw new InvalidArgumentError(`environment variable '${name}' has no valid name: it is empty or contains '='`);
    assertText(name, `the name of environment variable '${name.slice(0, 64)}'`);
    assertText(value, `environment variable '${name}'`);
    if (Buffer.byteLength(name) + 1 + Buffer.byteLength(value) > MAX_ARGUMENT_BYTES) {
      throw new InvalidArgumentError(
        `environment variable '${name.slice(0, 64)}' exceeds the size limit of ${MAX_ARGUMENT_BYTES} bytes: pass it in a file`,
      );
    }
  }
}

/**
 * Refuse text that C strings or UTF-8 cannot carry.
 *
 * @throws {@link InvalidArgumentError} `what` contains NUL or half a surrogate pair.
 */
export function assertText(text: string, what: string): void {
  if (text.includes("\0")) throw new InvalidArgumentError(`${what} contains a NUL character`);
  if (/\p{Surrogate}/u.test(text)) throw new InvalidArgumentError(`${what} contains half a surrogate pair, which UTF-8 cannot express`);
}
