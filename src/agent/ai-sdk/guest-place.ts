import type { Sandbox } from "../../sandbox/sandbox.js";
import { assertText } from "../../shared/text-check.js";
import { findWorkingDirectory } from "../working-directory.js";

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
  return { directory: await findWorkingDirectory(sandbox, { cwd: directory, user, signal }), user };
}

/** The absolute path that a path of a session means. */
export function pathIn({ directory }: GuestPlace, path: string): string {
  assertText("path", path);
  if (path.startsWith("/")) return path;
  return `${directory === "/" ? "" : directory}/${path}`;
}
