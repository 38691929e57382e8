/** Ends a queue that nobody empties. */
export type OverflowError = () => Error;

/** Events between a producer that cannot wait and one consumer; bounded, and never silently short. */
export class EventQueue<T> {
  readonly #limit: number;
  readonly #overflow: OverflowError;
  readonly #onOverflow: () => void;
  #events: T[] = [];
  #failure: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  /** Beyond `limit` events the queue drops all of them and fails with `overflow()`; then `onOverflow` may stop the producer. */
  constructor(limit: number, overflow: OverflowError, onOverflow: () => void) {
    this.#limit = limit;
    this.#overflow = overflow;
    this.#onOverflow = onOverflow;
  }

  push(event: T): void {
    if (this.#failure !== undefined) return;
    if (this.#events.length >= this.#limit) {
      this.#events = [];
      this.fail(this.#overflow());
      this.#onOverflow();
      return;
    }
    this.#events.push(event);
    this.#wake?.();
  }

  /** No event follows; what is queued is still delivered, then `error` is thrown. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  /**
   * All queued events; empty when there are none.
   *
   * @throws what {@link fail} was given, once the queue is empty, at every call.
   */
  take(): T[] {
    if (this.#events.length === 0) {
      if (this.#failure !== undefined) throw this.#failure.error;
      return [];
    }
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Resolves when {@link take} has something to give or to throw, or after `timeoutMs`. */
  async wait(timeoutMs: number): Promise<void> {
    if (this.#events.length > 0 || this.#failure !== undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }
}
