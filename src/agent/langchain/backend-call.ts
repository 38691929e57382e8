import type { Advice } from "../describe-failure.js";

/** What every call into the sandbox carries. */
export interface BackendCall {
  readonly signal: AbortSignal | undefined;
  /** User inside the sandbox; `undefined` is the template's. */
  readonly user: string | undefined;
}

/** What a model can do about a failure with the tools of deepagents. */
export const BACKEND_ADVICE: Advice = {
  file_not_found: "Use ls or glob to see what is there.",
  sandbox_not_found: "The sandbox has ended and its files are gone. Call the tool again to start in a new one.",
  sandbox_gone: "The sandbox has ended and its files are gone. Call the tool again to start in a new one.",
  permission_denied: "Write below the home directory or /tmp.",
  rate_limited: "Wait a moment and try again.",
};

/** Largest file that is held in memory. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;
