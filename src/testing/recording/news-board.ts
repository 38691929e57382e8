/** A number that only grows, and those who wait for it. */
export class NewsBoard {
  #count = 0;
  #waiting: (() => void)[] = [];

  add(): void {
    this.#count += 1;
    for (const look of this.#waiting.splice(0)) look();
  }

  /** Wait until it was added to so often; an abort rejects with its reason. */
  until(count: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal?.reason);
      const look = (): void => {
        if (this.#count < count) {
          this.#waiting.push(look);
          return;
        }
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      if (signal?.aborted) onAbort();
      signal?.addEventListener("abort", onAbort, { once: true });
      look();
    });
  }
}
