import { join } from "node:path";
import { FailedPreconditionError } from "../../../errors/error-classes.js";

/** Bytes of a path in `sockaddr_un` without the closing NUL and the `.new` of a socket in the making (unix(7)). */
const MAX_PATH_BYTES = 107 - ".new".length;

/**
 * Path of the daemon's socket of a sandbox.
 *
 * @throws {@link FailedPreconditionError} longer than the kernel takes.
 */
export function socketFile(socketsDir: string, id: string): string {
  const path = join(socketsDir, `${id}.sock`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new FailedPreconditionError(
      `the socket path ${path} is longer than ${MAX_PATH_BYTES} bytes; set AGENT_SANDBOX_RUN_DIR to a shorter directory`,
    );
  }
  return path;
}
