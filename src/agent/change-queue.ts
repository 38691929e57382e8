/**
 * Lets changes of one file wait for each other, since an edit is a read and a write: of two at the same time one would be lost.
 *
 * Files count as the same by their last name, so that `a`, `./a` and `/home/user/a` do. A link of another name is not known.
 */
export class ChangeQueue {
  /** The last change of each file that is under way. */
  readonly #changes = new Map<string, Promise<unknown>>();

  /** Do something that changes a file when all earlier changes of this file are done. */
  async run<T>(path: string, change: () => Promise<T>, sandboxId = ""): Promise<T> {
    const name = path.split("/").findLast((part) => part !== "" && part !== ".") ?? "";
    const key = `${sandboxId}/${name}`;
    const changing = (this.#changes.get(key) ?? Promise.resolve()).then(change);
    const settled = changing.catch(() => undefined);
    this.#changes.set(key, settled);
    try {
      return await changing;
    } finally {
      if (this.#changes.get(key) === settled) this.#changes.delete(key);
    }
  }
}
