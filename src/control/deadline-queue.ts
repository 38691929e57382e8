/**
 * Longest time between two looks at the clock. A timer stands still while the machine sleeps and knows nothing of a clock that is set, but
 * a deadline is a time of day. (`setTimeout` itself keeps no delay above 2^31 ms either.)
 */
const MAX_DELAY_MS = 30_000;

/**
 * Calls `onDue` once per key when its deadline passes, however far away that is.
 *
 * One timer serves all deadlines; it is unreferenced, so it keeps no process alive.
 */
export class DeadlineQueue {
  readonly #deadlines = new Map<string, number>();
  readonly #onDue: (key: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(onDue: (key: string) => void) {
    this.#onDue = onDue;
  }

  /** Set or move the deadline of `key`; one in the past fires in a later turn of the event loop. */
  set(key: string, at: Date): void {
    this.#deadlines.set(key, at.getTime());
    this.#arm();
  }

  delete(key: string): void {
    if (this.#deadlines.delete(key)) this.#arm();
  }

  /** Forget every deadline. */
  clear(): void {
    this.#deadlines.clear();
    this.#arm();
  }

  #arm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#deadlines.size === 0) return;
    const earliest = [...this.#deadlines.values()].reduce((a, b) => Math.min(a, b));
    const delayMs = Math.min(Math.max(earliest - Date.now(), 0), MAX_DELAY_MS);
    this.#timer = setTimeout(() => this.#fire(), delayMs).unref();
  }

  #fire(): void {
    const now = Date.now();
    const due = [...this.#deadlines].filter(([, at]) => at <= now).sort((a, b) => a[1] - b[1]);
    for (const [key] of due) this.#deadlines.delete(key);
    this.#arm();
    for (const [key] of due) this.#onDue(key);
  }
}
