import { startLongTimer } from "../shared/long-timer.js";
import type { RpcStream } from "../transport/rpc.js";

/** Silence after which a connection counts as dead, in milliseconds. The daemon is asked for a keepalive in less than half of it. */
export const SILENCE_MS = 45_000;

/** What may end the following of a process from the client's side: the caller, its time, or `cancel`. One signal over all connections. */
export class StreamLife implements Disposable {
  readonly #controller = new AbortController();
  readonly #userSignal: AbortSignal | undefined;
  #stopTimer: (() => void) | undefined;

  constructor(userSignal: AbortSignal | undefined) {
    this.#userSignal = userSignal;
    if (userSignal?.aborted) this.#controller.abort(userSignal.reason);
    else userSignal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Aborts with what ended it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** End it with `toReason()` after a time; 0 is never. */
  endAfter(durationMs: number, toReason: () => unknown): void {
    if (durationMs > 0) this.#stopTimer = startLongTimer(durationMs, () => this.end(toReason()));
  }

  end(reason: unknown): void {
    this.#controller.abort(reason);
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    this.#userSignal?.removeEventListener("abort", this.#onAbort);
  }

  readonly #onAbort = () => this.end(this.#userSignal?.reason);
}

/** Cancels a stream from which nothing came for {@link SILENCE_MS} while somebody waited for it. */
export class SilenceWatch implements Disposable {
  #waitingSince: number | undefined = performance.now();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(stream: RpcStream<unknown>, toReason: () => unknown, silenceMs = SILENCE_MS) {
    this.#timer = setInterval(() => {
      if (this.#waitingSince !== undefined && performance.now() - this.#waitingSince > silenceMs) stream.cancel(toReason());
    }, silenceMs / 8);
  }

  /** A message came; until `waiting()` its reader is busy. */
  busy(): void {
    this.#waitingSince = undefined;
  }

  waiting(): void {
    this.#waitingSince = performance.now();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
