import type { ErrorReason } from "./reason.js";

/** Facts that accompany an error; each absent one is simply unknown. */
export interface SandboxErrorOptions {
  /** What was being done, as `namespace.method`, e.g. `files.read`. */
  readonly operation?: string;
  /** The sandbox that the call was about. */
  readonly sandboxId?: string;
  /** Identifier that the server gave the failed request. */
  readonly requestId?: string;
  /** HTTP status of the answer, where there was one. */
  readonly statusCode?: number;
  /** Repeating the same call may succeed. @defaultValue false */
  readonly isRetryable?: boolean;
  /** The failure behind this one. */
  readonly cause?: unknown;
}

const BRAND = Symbol.for("@agent-sandbox/sdk/SandboxError");

/** Root of every error that this package throws, on both sides of the wire. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
  /** What programs branch on; the same word on every wire. */
  readonly reason: ErrorReason;
  /** What was being done, as `namespace.method`, e.g. `files.read`. */
  readonly operation: string | undefined;
  /** The sandbox that the call was about. */
  readonly sandboxId: string | undefined;
  /** Identifier that the server gave the failed request. */
  readonly requestId: string | undefined;
  /** HTTP status of the answer, where there was one. */
  readonly statusCode: number | undefined;
  /** Repeating the same call may succeed. The library did so already where the contract allows it. */
  readonly isRetryable: boolean;

  constructor(reason: ErrorReason, message: string, options: SandboxErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.operation = options.operation;
    this.sandboxId = options.sandboxId;
    this.requestId = options.requestId;
    this.statusCode = options.statusCode;
    this.isRetryable = options.isRetryable ?? false;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a SandboxError of any copy of this package, where `instanceof` may fail. */
  static isInstance(value: unknown): value is SandboxError {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}
