import { SandboxError } from "../errors/sandbox-error.js";
import type { Deadline } from "./deadline.js";
import type { HttpResponse } from "./http.js";
import type { SafeLogger } from "./logger.js";
import { type CallContext, requestIdOf } from "./wire-errors.js";

/** What was answered. */
interface Answered {
  readonly response: HttpResponse;
  /** Of HTTP, or of the service. */
  readonly method: string;
}

/** Log that a request was answered well. */
export function logAnswer(
  logger: SafeLogger,
  { operation, sandboxId }: CallContext,
  { response, method }: Answered,
  deadline: Deadline,
): void {
  const durationMs = Math.round(performance.now() - deadline.startedAtMs);
  logger.info("request", { operation, sandboxId, method, status: response.status, durationMs, requestId: requestIdOf(response) });
}

/** Log why a call failed. The message of the error stays out: it may repeat a path, a name or what a stranger said. */
export function logFailure(logger: SafeLogger, { operation, sandboxId }: CallContext, error: unknown, deadline: Deadline): void {
  const durationMs = Math.round(performance.now() - deadline.startedAtMs);
  const { reason, statusCode, requestId } = SandboxError.isInstance(error) ? error : ({ reason: "aborted" } as const);
  logger.error("request failed", { operation, sandboxId, reason, status: statusCode, durationMs, requestId });
}
