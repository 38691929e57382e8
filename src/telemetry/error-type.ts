import { SandboxError } from "../errors/sandbox-error.js";

/** The attribute `error.type`: one of few words, and never the text of the error. */
export function errorType(error: unknown): string {
  return SandboxError.isInstance(error) ? error.reason : error instanceof Error ? error.name : "aborted";
}
