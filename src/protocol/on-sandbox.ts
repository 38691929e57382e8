import type { RequestOptions } from "../transport/config.js";

/** Options of a call about one sandbox, whose absence is what "not found" then means. */
export function onSandbox(operation: string, sandboxId: string, options: RequestOptions, isIdempotent = true) {
  return { ...options, operation, sandboxId, notFound: "sandbox_not_found", isIdempotent } as const;
}
