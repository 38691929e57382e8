import type { HttpClient, HttpResponse } from "./http.js";

/** What is known of a call when it begins. */
export interface CallFacts {
  /** `namespace.method`. */
  readonly operation: string;
  readonly sandboxId?: string | undefined;
  readonly templateId?: string | undefined;
  /** Program and arguments, where the call starts one. */
  readonly command?: readonly string[] | undefined;
}

/** What a call is watched with, from its begin to its end. */
export interface CallSpan {
  /** The same client; its requests belong to the call, and carry the context of the trace. */
  over(http: HttpClient): HttpClient;
  /** Headers that carry the context, for a request over no {@link HttpClient}. */
  headers(): Readonly<Record<string, string>>;
  /** An answer that names a sandbox. Nothing else is read of it. */
  learn(answer: unknown): void;
  fail(error: unknown): void;
  /** Idempotent. */
  end(): void;
  /** End with the body of the answer, which comes in pieces. */
  endWith(response: HttpResponse): HttpResponse;
}

/** Events that the call of {@link Telemetry.follow} brings. */
export interface FollowedStream {
  readonly events: AsyncIterable<{ readonly type: string; readonly exitCode?: number }>;
  /** Leave it; the process goes on. */
  cancel(reason: unknown): void;
}

/**
 * Watches what a client does. `createTelemetry` of `@agent-sandbox/sdk/telemetry` makes one for OpenTelemetry; the members are called by the
 * client and are no API for others.
 */
export interface Telemetry {
  begin(facts: CallFacts): CallSpan;
  /** A call whose stream may take several connections: it ends with the events. The stream has its members as its own properties. */
  follow<S extends FollowedStream>(facts: CallFacts, open: (span: CallSpan) => Promise<S>): Promise<S>;
}
