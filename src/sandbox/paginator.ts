import { FailedPreconditionError } from "../errors/error-classes.js";
import type { Page } from "../protocol/lifecycle-types.js";
import type { RequestOptions } from "../transport/config.js";

/** Loads the page that a token stands for; the first page without one. */
export type LoadPage<T> = (nextToken: string | undefined, options: RequestOptions | undefined) => Promise<Page<T>>;

/** A list that comes in pages, each loaded when it is asked for. */
export class Paginator<T> implements AsyncIterable<T> {
  readonly #load: LoadPage<T>;
  #nextToken: string | undefined;
  #hasNext = true;

  /** @internal */
  constructor(load: LoadPage<T>, nextToken?: string) {
    this.#load = load;
    this.#nextToken = nextToken;
  }

  /** Another page can be asked for. True before the first. */
  get hasNext(): boolean {
    return this.#hasNext;
  }

  /** Token of the next page, for a later list with the same query. */
  get nextToken(): string | undefined {
    return this.#nextToken;
  }

  /** Load the next page. @throws {@link FailedPreconditionError} there is none. */
  async nextItems(options?: RequestOptions): Promise<T[]> {
    if (!this.#hasNext) throw new FailedPreconditionError("No more items to fetch: ask hasNext first");
    const page = await this.#load(this.#nextToken, options);
    this.#nextToken = page.nextToken;
    this.#hasNext = page.nextToken !== undefined;
    return [...page.items];
  }

  /** The pages that have not been loaded yet. */
  async *pages(): AsyncGenerator<T[], void, undefined> {
    while (this.#hasNext) yield await this.nextItems();
  }

  /** All items that have not been loaded yet. */
  async toArray(): Promise<T[]> {
    const items: T[] = [];
    for await (const page of this.pages()) items.push(...page);
    return items;
  }

  /** Every item that was not taken yet, one page after the other. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page;
  }
}
