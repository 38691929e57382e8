import { FailedPreconditionError } from "../errors/error-classes.js";
import type { ServerCall } from "./named-command-errors.js";

/** Nothing listens where the command server should. */
export function toNoServerError({ operation, sandboxId, port }: ServerCall): FailedPreconditionError {
  return new FailedPreconditionError(
    `${operation} failed: no command server listens on port ${port} of the sandbox; start one with startCommandServer(), or name the port`,
    { operation, sandboxId },
  );
}

/** True for the error of {@link toNoServerError}, and false for what a server answered. */
export function isNoServer(error: unknown): boolean {
  return error instanceof FailedPreconditionError && error.statusCode === undefined;
}
