/** What is happening to sandboxes at this moment: one change of state at a time for each. */
export class Transitions {
  readonly #running = new Map<string, Promise<void>>();

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** Resolves when the change of `id` is over, however it ended; `undefined` when there is none. */
  settled(id: string): Promise<void> | undefined {
    return this.#running.get(id);
  }

  /** Resolves when no change is left. */
  async allSettled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }

  /** Begin a change; `work` runs to its first wait before this returns. */
  async run<T>(id: string, work: () => Promise<T>): Promise<T> {
    const outcome = work();
    const settled = outcome.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(id, settled);
    try {
      return await outcome;
    } finally {
      if (this.#running.get(id) === settled) this.#running.delete(id);
    }
  }
}
