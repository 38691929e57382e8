import {
  FailedPreconditionError,
  FileNotFoundError,
  InternalError,
  InvalidArgumentError,
  NotEnoughSpaceError,
} from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { messageOf } from "../../shared/message-of.js";

/**
 * A path has the wrong kind for what is done there. On the shared wire MakeDir and Move answer `internal` for it, and clients of ours read the
 * reason.
 */
export class WrongKindError extends InvalidArgumentError {}

/** The symbolic error number of a failed system call, e.g. `ENOENT`. */
export function errnoCode(error: unknown): string | undefined {
  return typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * Typed error of a failed system call on `path`; `action` is what was tried, e.g. `read`. A SandboxError passes through unchanged.
 */
export function fileError(error: unknown, action: string, path: string): SandboxError {
  if (SandboxError.isInstance(error)) return error;
  const options = { cause: error };
  const code = errnoCode(error);
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return new FileNotFoundError(`path '${path}' does not exist`, options);
    case "ELOOP":
      return new FailedPreconditionError(`path '${path}' leads through a loop of symbolic links`, options);
    case "EISDIR":
      return new InvalidArgumentError(`path '${path}' is a directory`, options);
    case "ENAMETOOLONG":
      return new InvalidArgumentError(`path '${path.slice(0, 64)}…' or one of its names is too long`, options);
    case "ENOSPC":
    case "EDQUOT":
      return new NotEnoughSpaceError(`cannot ${action} '${path}': no space or no inode is left`, options);
    default:
      return new InternalError(`cannot ${action} '${path}': ${code ?? messageOf(error)}`, options);
  }
}
