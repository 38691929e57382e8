/** Undoes steps in the reverse order of their success; Node 22 has no `AsyncDisposableStack`. */
export class CleanupStack {
  readonly #steps: (() => void | Promise<void>)[] = [];

  /** Remember how to undo what was just done. */
  defer(undo: () => void | Promise<void>): void {
    this.#steps.push(undo);
  }

  /** Run every step, also when others fail; rejects with the first failure. */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (let undo = this.#steps.pop(); undo !== undefined; undo = this.#steps.pop()) {
      try {
        await undo();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
