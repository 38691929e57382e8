import type { ErrorReason } from "./reason.js";
import { SandboxError, type SandboxErrorOptions } from "./sandbox-error.js";

/** An argument is malformed or out of range; the message names it. */
export class InvalidArgumentError extends SandboxError {
  override readonly name: string = "InvalidArgumentError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "invalid_argument") {
    super(reason, message, options);
  }
}

/** The API key or access token is missing, unknown or expired. */
export class AuthenticationError extends SandboxError {
  override readonly name: string = "AuthenticationError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("authentication", message, options);
  }
}

/** The caller is known but may not do this. */
export class PermissionDeniedError extends SandboxError {
  override readonly name: string = "PermissionDeniedError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("permission_denied", message, options);
  }
}

/** The thing that the call names does not exist. */
export class NotFoundError extends SandboxError {
  override readonly name: string = "NotFoundError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "not_found") {
    super(reason, message, options);
  }
}

/** No file or directory at the path. */
export class FileNotFoundError extends NotFoundError {
  override readonly name: string = "FileNotFoundError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super(message, options, "file_not_found");
  }
}

/** No sandbox with the id, or it ended. */
export class SandboxNotFoundError extends NotFoundError {
  override readonly name: string = "SandboxNotFoundError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super(message, options, "sandbox_not_found");
  }
}

/** The template is unknown or cannot be used. */
export class TemplateError extends SandboxError {
  override readonly name: string = "TemplateError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "template_not_found") {
    super(reason, message, options);
  }
}

/** The thing to be made exists already. */
export class AlreadyExistsError extends SandboxError {
  override readonly name: string = "AlreadyExistsError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("already_exists", message, options);
  }
}

/** The state of the sandbox or of this machine does not allow the call; the message says what must change. */
export class FailedPreconditionError extends SandboxError {
  override readonly name: string = "FailedPreconditionError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "failed_precondition") {
    super(reason, message, options);
  }
}

/** A limit on requests or sandboxes was reached. */
export class RateLimitError extends SandboxError {
  override readonly name: string = "RateLimitError";
  /** Milliseconds to wait before the next try, when the server said so. */
  readonly retryAfterMs: number | undefined;
  constructor(message: string, options?: SandboxErrorOptions & { readonly retryAfterMs?: number }) {
    super("rate_limited", message, { isRetryable: true, ...options });
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** The disk of the sandbox is full. */
export class NotEnoughSpaceError extends SandboxError {
  override readonly name: string = "NotEnoughSpaceError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("not_enough_space", message, options);
  }
}

/** The service has no capacity at the moment (HTTP 503). */
export class ServiceBusyError extends SandboxError {
  override readonly name: string = "ServiceBusyError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("service_busy", message, { isRetryable: true, ...options });
  }
}

/** A deadline passed. `timeout` says which one: the life of the sandbox, of the command, or one request. */
export class TimeoutError extends SandboxError {
  override readonly name: string = "TimeoutError";
  /** Which time is over; `undefined` where the peer did not say. */
  readonly timeout: "sandbox" | "command" | "request" | undefined;
  constructor(message: string, options?: SandboxErrorOptions & { readonly timeout?: "sandbox" | "command" | "request" }) {
    super(options?.timeout === "sandbox" ? "sandbox_gone" : "timeout", message, options);
    this.timeout = options?.timeout;
  }
}

/** The connection failed or ended before the answer was complete. */
export class ConnectionError extends SandboxError {
  override readonly name: string = "ConnectionError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("connection", message, { isRetryable: true, ...options });
  }
}

/** The peer does not offer this call. */
export class UnimplementedError extends SandboxError {
  override readonly name: string = "UnimplementedError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("unimplemented", message, options);
  }
}

/** The peer answered something that the contract does not allow. */
export class ProtocolError extends SandboxError {
  override readonly name: string = "ProtocolError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("protocol", message, options);
  }
}

/** The peer failed for a reason of its own. */
export class InternalError extends SandboxError {
  override readonly name: string = "InternalError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("internal", message, options);
  }
}
