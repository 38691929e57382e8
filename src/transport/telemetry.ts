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

/** A process that is followed. */
export interface FollowedStream {
  readonly events: AsyncIterable<{ readonly type: string; readonly exitCode?: number }>;
  /** Leave it; the process goes on. */
  cancel(reason: unknown): void;
}

/** Follows processes: those that it starts, and others. */
export interface StreamClient {
  start(spec: { readonly cmd: string; readonly args: readonly string[] }, options: StreamOptions): Promise<FollowedStream>;
  attach(pid: number, options: StreamOptions): Promise<FollowedStream>;
}

export interface StreamOptions {
  readonly operation: string;
  readonly span?: CallSpan | undefined;
}

/**
 * Watches what a client does. `createTelemetry` of `@agent-sandbox/sdk/telemetry` makes one for OpenTelemetry; the members are called by the
 * client and are no API for others.
 */
export interface Telemetry {
  /** @internal */
  begin(facts: CallFacts): CallSpan;
  /**
   * The same client; following a process is one call, over however many connections, and ends with the events.
   *
   * @internal
   */
  watchStreams<C extends StreamClient>(client: C, facts: Pick<CallFacts, "sandboxId" | "templateId">): C;
}
