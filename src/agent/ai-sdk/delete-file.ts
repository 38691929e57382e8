import { InternalError, InvalidArgumentError, PermissionDeniedError } from "../../errors/error-classes.js";
import type { Commands } from "../../sandbox/commands.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 8_192;

/**
 * Delete one file, or a link itself. False when nothing is there.
 *
 * By `rm`, which never deletes a directory, also when one takes the place of the file at that moment; `files.remove` would take it whole.
 *
 * @throws {@link InvalidArgumentError} it is a directory; {@link PermissionDeniedError} the user may not.
 */
export async function deleteFile(
  commands: Commands,
  path: string,
  { user, signal }: { readonly user: string | undefined; readonly signal: AbortSignal | undefined },
): Promise<boolean> {
  const { exitCode, stderr } = await commands.run(quoteShellCommand(["env", "LC_ALL=C", "rm", "--", path]), {
    reject: false,
    timeoutMs: TIMEOUT_MS,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    user,
    signal,
  });
  if (exitCode === 0) return true;
  const said = stderr.trim();
  if (/: (No such file or|Not a) directory$/.test(said)) return false;
  if (/: Is a directory$|directory: skipping /.test(said))
    throw new InvalidArgumentError(`path '${path}' is a directory; deleteFile deletes files only`);
  if (/: (Permission denied|Operation not permitted)$/.test(said))
    throw new PermissionDeniedError(`path '${path}' may not be deleted: ${said}`);
  throw new InternalError(`cannot delete '${path}': ${said === "" ? `rm ended with exit code ${exitCode}` : said}`);
}
