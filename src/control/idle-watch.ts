/** Calls back once when nothing has been going on for a while. */
export class IdleWatch {
  readonly #idleTimeoutMs: number;
  readonly #isBusy: () => boolean;
  readonly #onIdle: () => void;
  #lastActivityAt = performance.now();
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param idleTimeoutMs 0 never calls back. */
  constructor(idleTimeoutMs: number, isBusy: () => boolean, onIdle: () => void) {
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#isBusy = isBusy;
    this.#onIdle = onIdle;
    if (idleTimeoutMs > 0) this.#timer = setInterval(() => this.#check(), Math.min(Math.max(idleTimeoutMs / 4, 10), 60_000)).unref();
  }

  /** Something happened. */
  touch(): void {
    this.#lastActivityAt = performance.now();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    if (this.#isBusy()) this.touch();
    if (performance.now() - this.#lastActivityAt < this.#idleTimeoutMs) return;
    this.close();
    this.#onIdle();
  }
}
