/** Tells everybody who waits that something may have changed; who waits looks again, because it need not be what they wait for. */
export class ChangeNotice {
  #waiting: (() => void)[] = [];

  /** Wait for the next change. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  tell(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }
}
