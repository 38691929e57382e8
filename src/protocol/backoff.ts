/** Pauses before the tries to open a broken stream again: none before the first, then doubling with jitter. */
export class Backoff {
  #tries = 0;

  /** Milliseconds before the next try. */
  next(): number {
    const tries = this.#tries;
    this.#tries += 1;
    return tries === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)) * (0.5 + Math.random() / 2);
  }

  reset(): void {
    this.#tries = 0;
  }
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 2_000;

/** Wait; rejects with the reason of `signal`. */
export function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, durationMs);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}
