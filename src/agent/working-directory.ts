import { ProtocolError } from "../errors/error-classes.js";
import type { Sandbox } from "../sandbox/sandbox.js";

export interface StartOptions {
  /** Absolute, or relative to the home directory. @defaultValue where commands start without one */
  readonly cwd?: string | undefined;
  /** User inside the sandbox. @defaultValue the template's user */
  readonly user?: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * The absolute path of the directory in which commands start.
 *
 * @throws {@link InvalidArgumentError} there is no directory `cwd`.
 */
export async function findWorkingDirectory({ commands }: Sandbox, options: StartOptions): Promise<string> {
  // Behind the NUL, since a profile of the template may print something first.
  const { stdout } = await commands.run("printf '\\0%s' \"$PWD\"", options);
  const found = stdout.slice(stdout.lastIndexOf("\0") + 1);
  if (!found.startsWith("/")) throw new ProtocolError(`the shell of the sandbox did not tell its directory, but ${JSON.stringify(found)}`);
  return found;
}
