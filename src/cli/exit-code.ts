import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";

/** Exit statuses of `abx`; `exec` and `connect` pass on that of the command instead. */
export const EXIT = { ok: 0, general: 1, usage: 2, auth: 3, notFound: 4, timeout: 5, quota: 6 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const EXIT_OF_REASON: Record<ErrorReason, ExitCode> = {
  invalid_argument: EXIT.usage,
  authentication: EXIT.auth,
  permission_denied: EXIT.auth,
  not_found: EXIT.notFound,
  sandbox_not_found: EXIT.notFound,
  file_not_found: EXIT.notFound,
  process_not_found: EXIT.notFound,
  template_not_found: EXIT.notFound,
  already_exists: EXIT.general,
  failed_precondition: EXIT.general,
  aborted: EXIT.general,
  method_not_allowed: EXIT.general,
  payload_too_large: EXIT.general,
  unsupported_media_type: EXIT.general,
  rate_limited: EXIT.quota,
  not_enough_space: EXIT.quota,
  service_busy: EXIT.quota,
  timeout: EXIT.timeout,
  sandbox_gone: EXIT.timeout,
  connection: EXIT.general,
  unimplemented: EXIT.general,
  protocol: EXIT.general,
  internal: EXIT.general,
  command_exit: EXIT.general,
};

/** Exit status for what a command of `abx` threw. */
export function exitCodeOf(error: unknown): ExitCode {
  // A reason that this version does not know comes from a newer peer.
  return SandboxError.isInstance(error) ? (EXIT_OF_REASON[error.reason] ?? EXIT.general) : EXIT.general;
}
