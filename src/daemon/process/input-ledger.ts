const MAX_REMEMBERED = 1024;

/** Makes repeated input harmless: what was given under an id is given once. */
export class InputLedger {
  readonly #outcomes = new Map<string, Promise<void>>();

  /** Something was given under this id. */
  knows(id: string): boolean {
    return this.#outcomes.has(id);
  }

  /** Run `give` unless it ran under this id before; either way settle as that run does. An empty id is never remembered. */
  once(id: string, give: () => Promise<void>): Promise<void> {
    const known = id === "" ? undefined : this.#outcomes.get(id);
    if (known !== undefined) return known;
    const outcome = give();
    if (id === "") return outcome;
    // Whoever asks sees the failure; nobody has to.
    outcome.catch(() => {});
    this.#outcomes.set(id, outcome);
    for (const oldest of this.#outcomes.keys()) {
      if (this.#outcomes.size <= MAX_REMEMBERED) break;
      this.#outcomes.delete(oldest);
    }
    return outcome;
  }
}
