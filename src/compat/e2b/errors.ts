import { AuthenticationError, type ErrorReason, SandboxError, type SandboxErrorOptions } from "../../index.js";

/** The remote of git refused the credentials, or wants some. */
export class GitAuthError extends AuthenticationError {
  override readonly name: string = "GitAuthError";
}

/** A branch has no upstream. */
export class GitUpstreamError extends SandboxError {
  override readonly name: string = "GitUpstreamError";
  constructor(message: string, options?: SandboxErrorOptions) {
    super("failed_precondition", message, options);
  }
}

/** A call about a volume failed. */
export class VolumeError extends SandboxError {
  override readonly name: string = "VolumeError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "internal") {
    super(reason, message, options);
  }
}

/** There is no such volume. */
export class VolumeNotFoundError extends VolumeError {
  override readonly name: string = "VolumeNotFoundError";
}

/** A volume has nothing at this path. */
export class VolumePathNotFoundError extends VolumeError {
  override readonly name: string = "VolumePathNotFoundError";
}

/** A call about a secret failed. */
export class SecretError extends SandboxError {
  override readonly name: string = "SecretError";
  constructor(message: string, options?: SandboxErrorOptions, reason: ErrorReason = "internal") {
    super(reason, message, options);
  }
}

/** There is no such secret. */
export class SecretNotFoundError extends SecretError {
  override readonly name: string = "SecretNotFoundError";
}

type FamilyError = new (message: string, options: SandboxErrorOptions, reason: ErrorReason) => SandboxError;

/** Reasons that have one class in every family. */
const SHARED: readonly ErrorReason[] = ["authentication", "rate_limited", "service_busy", "invalid_argument", "timeout", "connection"];

/**
 * Run a call whose failures have classes of their own; what is shared by all calls keeps its class. An argument that the server refuses, such as
 * a name that is taken, is a failure of the call, and one that is wrong before it was sent is not.
 */
export async function inFamily<T>(
  family: { readonly other: FamilyError; readonly byReason: Partial<Record<ErrorReason, FamilyError>> },
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!SandboxError.isInstance(error) || isShared(error)) throw error;
    const Class = family.byReason[error.reason] ?? family.other;
    const { operation, requestId, statusCode, isRetryable } = error;
    const facts = { ...(operation && { operation }), ...(requestId && { requestId }), ...(statusCode && { statusCode }) };
    throw new Class(error.message, { ...facts, isRetryable, cause: error }, error.reason);
  }
}

/** An argument that the server refused is a failure of the family, one that was refused here never reached it. */
function isShared({ reason, statusCode }: SandboxError): boolean {
  return SHARED.includes(reason) && (reason !== "invalid_argument" || statusCode === undefined);
}
