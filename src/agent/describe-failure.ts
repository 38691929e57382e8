import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { messageOf } from "../shared/message-of.js";

/** What a model can do about a failure. */
export type Advice = Readonly<Partial<Record<ErrorReason, string>>>;

/** Where nothing stands the message says it. */
const COMMON_ADVICE: Advice = {
  not_enough_space: "Remove files that are no longer needed.",
  service_busy: "Wait a moment and try again.",
  connection: "Try again.",
  authentication: "The credentials of this program are wrong or missing; the user has to set them.",
};

/** What the tools of this package can do. */
const TOOL_ADVICE: Advice = {
  file_not_found: "Use list_files to see what is there. Relative paths begin in the home directory.",
  sandbox_not_found: "The sandbox has ended and its files are gone. Call create_sandbox, or just the tool again, to start in a new one.",
  sandbox_gone: "The sandbox has ended and its files are gone. Call create_sandbox, or just the tool again, to start in a new one.",
  timeout: "Give a larger timeout_ms, or start it with run_command and background: true.",
  rate_limited: "Wait a moment, or end a sandbox with kill_sandbox.",
  failed_precondition: "The user may have to prepare the machine first.",
};

/** A failure in words from which a model can go on; never a stack, which says nothing to it. */
export function describeFailure(tool: string, error: unknown, advice: Advice = TOOL_ADVICE): string {
  const message = messageOf(error);
  const next = SandboxError.isInstance(error) ? (advice[error.reason] ?? COMMON_ADVICE[error.reason]) : undefined;
  return `${tool} failed: ${message}${/[.!?]$/.test(message) ? "" : "."}${next === undefined ? "" : ` ${next}`}`;
}
