import type { ChangeQueue } from "./change-queue.js";
import type { SandboxSession } from "./sandbox-session.js";
import type { Parameter } from "./tool-input.js";

/** What the tools of one conversation share. */
export interface ToolContext {
  readonly session: SandboxSession;
  readonly changes: ChangeQueue;
  /** Characters of text in a result, of each stream of output. */
  readonly maxTextLength: number;
}

/** Names the sandbox of a call. */
export const SANDBOX_ID = {
  type: "string",
  description: "Sandbox to use, one that create_sandbox gave. Leave it out for the default one.",
} as const satisfies Parameter;

/** How long what a call runs may take. */
export const TIMEOUT_MS = {
  type: "integer",
  minimum: 1,
  maximum: 3_600_000,
  default: 60_000,
  description: "Milliseconds after which it is killed.",
} as const satisfies Parameter;

/** Milliseconds that a call may take which runs nothing. */
export const QUICK_MS = 60_000;
