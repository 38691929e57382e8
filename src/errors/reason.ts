/**
 * Why an operation failed: the one vocabulary of clients and servers.
 *
 * Declared in `openapi/common.yaml`; a REST error carries it as `error_code`, a Connect error in its `google.rpc.ErrorInfo` detail.
 */
export const ERROR_REASONS = [
  "invalid_argument",
  "authentication",
  "permission_denied",
  "not_found",
  "sandbox_not_found",
  "file_not_found",
  "process_not_found",
  "template_not_found",
  "already_exists",
  "failed_precondition",
  "aborted",
  "method_not_allowed",
  "payload_too_large",
  "unsupported_media_type",
  "rate_limited",
  "not_enough_space",
  "service_busy",
  "timeout",
  "sandbox_gone",
  "connection",
  "unimplemented",
  "protocol",
  "internal",
  "command_exit",
] as const;

/** One of {@link ERROR_REASONS}. */
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** Narrow a string from the wire to a known reason. */
export function isErrorReason(value: unknown): value is ErrorReason {
  return typeof value === "string" && (ERROR_REASONS as readonly string[]).includes(value);
}
