import { TimeoutError } from "../errors/error-classes.js";
import { startLongTimer } from "../shared/long-timer.js";
import type { HttpClient } from "./http.js";
import type { CallFacts, CallSpan, Telemetry } from "./telemetry.js";

/** What may end a call before its answer. */
export interface DeadlineOptions extends CallFacts {
  readonly signal?: AbortSignal | undefined;
  /** `0` is no limit. */
  readonly requestTimeoutMs: number;
  /** Watches the call, which ends with the disposal. */
  readonly telemetry?: Telemetry | undefined;
  /** Given where the call is a part of another one, which is watched already. */
  readonly span?: CallSpan | undefined;
}

/**
 * The caller's signal and the request timeout as one signal, whose reason tells them apart.
 *
 * Dispose it when the call is over: listeners and timers do not outlive the call.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #userSignal: AbortSignal | undefined;
  readonly #ownSpan: CallSpan | undefined;
  #stopTimer: (() => void) | undefined;
  /** In milliseconds of `performance.now()`, as {@link endsAtMs}. */
  readonly startedAtMs = performance.now();
  /** What the call is watched with; absent without telemetry. */
  readonly span: CallSpan | undefined;
  /** When the request timeout fires; `undefined` never. */
  readonly endsAtMs: number | undefined;

  constructor(options: DeadlineOptions) {
    this.#userSignal = options.signal;
    this.#ownSpan = options.span === undefined ? options.telemetry?.begin(options) : undefined;
    this.span = options.span ?? this.#ownSpan;
    if (options.signal?.aborted) this.#controller.abort(options.signal.reason);
    else options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    const { requestTimeoutMs } = options;
    if (requestTimeoutMs > 0) {
      this.endsAtMs = this.startedAtMs + requestTimeoutMs;
      this.#stopTimer = startLongTimer(requestTimeoutMs, () => this.#controller.abort(toRequestTimeout(options)));
    }
  }

  /** Aborts with the caller's reason or with a `TimeoutError`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Stop the clock and keep listening to the caller: a stream whose first message came may last. */
  stopTimer(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** End the call from inside. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** The client for the requests of this call. */
  over(http: HttpClient): HttpClient {
    return this.span?.over(http) ?? http;
  }

  /** Note how the call failed, and return just that. */
  failed(error: unknown): unknown {
    this.#ownSpan?.fail(error);
    return error;
  }

  [Symbol.dispose](): void {
    this.#ownSpan?.end();
    this.stopTimer();
    this.#userSignal?.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = () => this.#controller.abort(this.#userSignal?.reason);
}

function toRequestTimeout({ operation, requestTimeoutMs, sandboxId }: DeadlineOptions): TimeoutError {
  return new TimeoutError(`${operation} had no answer within requestTimeoutMs (${requestTimeoutMs} ms); raise it, or pass 0 for no limit`, {
    operation,
    timeout: "request",
    ...(sandboxId !== undefined && { sandboxId }),
  });
}
