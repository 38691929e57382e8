import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";

const NEXT_STEPS: Partial<Record<ErrorReason, string>> = {
  authentication: "set AGENT_SANDBOX_API_KEY to a key of this server; without a key and a URL the platform of this machine is used",
  permission_denied: "the key is known but may not do this; use another AGENT_SANDBOX_API_KEY",
  sandbox_not_found: "`abx list` shows the sandboxes that there are",
  template_not_found: "`abx template list` shows the templates that there are, `abx template build` makes one",
  process_not_found: "`abx process list <sandbox-id>` shows what runs in it",
  file_not_found: "`abx files list <sandbox-id> <directory>` shows what is there",
  connection: "check that the server runs and AGENT_SANDBOX_API_URL is right; `abx doctor` checks this machine",
  rate_limited: "end sandboxes with `abx kill`, or try again later",
  not_enough_space: "make room: `abx kill`, `abx snapshot delete`, `abx template delete`",
  service_busy: "try again in a moment",
  sandbox_gone: "it ended; `abx create --timeout` gives the next one a longer life",
};

/** Where a key leads without a URL. */
const E2B_HOST = "//api.e2b.app";
const UNMEANT_SERVER =
  "a key is set and no URL, which means E2B's own server: set AGENT_SANDBOX_API_URL to another one, or unset AGENT_SANDBOX_API_KEY and E2B_API_KEY for the platform of this machine";

/** What somebody can do about a failure, or `undefined` where its message says all that there is to say. */
export function nextStepOf(error: unknown): string | undefined {
  if (!SandboxError.isInstance(error)) return undefined;
  // A path of this machine is none that a sandbox could show.
  if (error.reason === "file_not_found" && error.sandboxId === undefined) return undefined;
  if (error.reason === "connection" && error.message.includes(E2B_HOST)) return UNMEANT_SERVER;
  const step = NEXT_STEPS[error.reason];
  return step === undefined || mentions(error.message) ? undefined : step;
}

/** The message itself names a command or a variable to use. */
function mentions(message: string): boolean {
  return /\babx [a-z]|AGENT_SANDBOX_[A-Z]/.test(message);
}
