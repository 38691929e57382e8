import { InternalError, InvalidArgumentError, RateLimitError } from "../../errors/error-classes.js";
import type { SandboxError } from "../../errors/sandbox-error.js";
import type { LaunchPlan } from "./launch.js";

/** Say what the refusal of a system call means for whoever wanted to start the program. */
export function spawnError(cause: unknown, plan: LaunchPlan): SandboxError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown";
  switch (code) {
    case "E2BIG":
      return new InvalidArgumentError(
        "arguments and environment together exceed the size limit of the kernel (E2BIG): pass large data in a file",
        { cause },
      );
    case "ENOENT":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started: its interpreter (first line) or loader is missing`, {
        cause,
      });
    case "EACCES":
    case "EPERM":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started: user '${plan.user.name}' may not execute it`, { cause });
    case "ENOEXEC":
    case "ELOOP":
    case "ENOTDIR":
    case "EISDIR":
    case "ETXTBSY":
      return new InvalidArgumentError(`program '${plan.argv0}' cannot be started (${code})`, { cause });
    case "EAGAIN":
    case "ENOMEM":
    case "EMFILE":
    case "ENFILE":
      return new RateLimitError(
        `program '${plan.argv0}' cannot be started: the sandbox is out of processes, memory or descriptors (${code})`,
        { cause },
      );
    default:
      return new InternalError(`program '${plan.argv0}' cannot be started (${code})`, { cause });
  }
}
