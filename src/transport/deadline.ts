import { TimeoutError } from "../errors/error-classes.js";
import { startLongTimer } from "../shared/long-timer.js";

/** What may end a call before its answer. */
export interface DeadlineOptions {
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
  /** `0` is no limit. */
  readonly requestTimeoutMs: number;
  readonly sandboxId?: string | undefined;
}

/**
 * The caller's signal and the request timeout as one signal, whose reason tells them apart.
 *
 * Dispose it when the call is over: listeners and timers do not outlive the call.
 */
export class Deadline implements Disposable {
  readonly #controller = new AbortController();
  readonly #userSignal: AbortSignal | undefined;
  #stopTimer: (() => void) | undefined;
  /** When the request timeout fires, in milliseconds of `performance.now()`; `undefined` never. */
  readonly endsAtMs: number | undefined;

  constructor(options: DeadlineOptions) {
    this.#userSignal = options.signal;
    if (options.signal?.aborted) this.#controller.abort(options.signal.reason);
    else options.signal?.addEventListener("abort", this.#onAbort, { once: true });
    const { requestTimeoutMs } = options;
    if (requestTimeoutMs > 0) {
      this.endsAtMs = performance.now() + requestTimeoutMs;
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

  [Symbol.dispose](): void {
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
