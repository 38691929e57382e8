import { ProtocolError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { assertText } from "../../shared/text-check.js";

/** Where in a sandbox, and as whom, everything of a session happens. */
export interface GuestPlace {
  /** Absolute path of the directory that relative paths mean. */
  readonly directory: string;
  /** The template's user when absent. */
  readonly user: string | undefined;
}

/**
 * Ask the sandbox where commands start.
 *
 * @param directory absolute, or relative to the home directory; where commands start without one
 * @throws {@link InvalidArgumentError} there is no such directory.
 */
export async function findGuestPlace(
  sandbox: Sandbox,
  directory: string | undefined,
  user: string | undefined,
  signal: AbortSignal | undefined,
): Promise<GuestPlace> {
  // Behind the NUL, since a profile of the template may print something first.
  const { stdout } = await sandbox.commands.run("printf '\\0%s' \"$PWD\"", { cwd: directory, user, signal });
  const found = stdout.slice(stdout.lastIndexOf("\0") + 1);
  if (!found.startsWith("/")) throw new ProtocolError(`the shell of the sandbox did not tell its directory, but ${JSON.stringify(found)}`);
  return { directory: found, user };
}

/** The absolute path that a path of a session means. */
export function pathIn({ directory }: GuestPlace, path: string): string {
  assertText("path", path);
  if (path.startsWith("/")) return path;
  return `${directory === "/" ? "" : directory}/${path}`;
}
