import {
  AlreadyExistsError,
  AuthenticationError,
  ConnectionError,
  FailedPreconditionError,
  FileNotFoundError,
  InternalError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  PermissionDeniedError,
  ProtocolError,
  RateLimitError,
  SandboxNotFoundError,
  ServiceBusyError,
  TemplateError,
  TimeoutError,
  UnimplementedError,
} from "./error-classes.js";
import type { ErrorReason } from "./reason.js";
import { SandboxError, type SandboxErrorOptions } from "./sandbox-error.js";

type Build = (message: string, options: SandboxErrorOptions | undefined) => SandboxError;

const BUILDERS: Record<ErrorReason, Build> = {
  invalid_argument: (m, o) => new InvalidArgumentError(m, o),
  authentication: (m, o) => new AuthenticationError(m, o),
  permission_denied: (m, o) => new PermissionDeniedError(m, o),
  not_found: (m, o) => new NotFoundError(m, o),
  sandbox_not_found: (m, o) => new SandboxNotFoundError(m, o),
  file_not_found: (m, o) => new FileNotFoundError(m, o),
  process_not_found: (m, o) => new NotFoundError(m, o, "process_not_found"),
  template_not_found: (m, o) => new TemplateError(m, o),
  already_exists: (m, o) => new AlreadyExistsError(m, o),
  failed_precondition: (m, o) => new FailedPreconditionError(m, o),
  aborted: (m, o) => new FailedPreconditionError(m, o, "aborted"),
  method_not_allowed: (m, o) => new InvalidArgumentError(m, o, "method_not_allowed"),
  payload_too_large: (m, o) => new InvalidArgumentError(m, o, "payload_too_large"),
  unsupported_media_type: (m, o) => new InvalidArgumentError(m, o, "unsupported_media_type"),
  rate_limited: (m, o) => new RateLimitError(m, o),
  not_enough_space: (m, o) => new NotEnoughSpaceError(m, o),
  service_busy: (m, o) => new ServiceBusyError(m, o),
  timeout: (m, o) => new TimeoutError(m, o),
  sandbox_gone: (m, o) => new TimeoutError(m, { ...o, timeout: "sandbox" }),
  connection: (m, o) => new ConnectionError(m, o),
  unimplemented: (m, o) => new UnimplementedError(m, o),
  protocol: (m, o) => new ProtocolError(m, o),
  internal: (m, o) => new InternalError(m, o),
  command_exit: (m, o) => new SandboxError("command_exit", m, o),
};

/** Build the error class that stands for `reason`. */
export function errorFromReason(reason: ErrorReason, message: string, options?: SandboxErrorOptions): SandboxError {
  return BUILDERS[reason](message, options);
}
