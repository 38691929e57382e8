import { FailedPreconditionError } from "../../../errors/error-classes.js";

/** What stands in the way of a user who is not root, and what helps. */
export const ROOT_NEED =
  "Local sandboxes need root: run sudo abx setup once, then sudo abx serve; or set AGENT_SANDBOX_API_URL and AGENT_SANDBOX_API_KEY to those of a platform that root runs. abx doctor tells what this user lacks.";

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** @throws {@link FailedPreconditionError} this user can have no sandboxes. */
export function assertRoot(): void {
  if (!isRoot()) throw new FailedPreconditionError(ROOT_NEED);
}
