import { untilAborted } from "../shared/until-aborted.js";

/**
 * Call `run` for each item, at most `concurrency` at a time, and give the results in the order of the items.
 *
 * The first failure aborts the signal of the others, which are waited for, and is thrown.
 */
export async function mapConcurrently<Item, Result>(
  items: Iterable<Item> | AsyncIterable<Item>,
  concurrency: number,
  outer: AbortSignal | undefined,
  run: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const stop = new AbortController();
  const signal = outer === undefined ? stop.signal : AbortSignal.any([outer, stop.signal]);
  const iterator = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const results: Result[] = [];
  let failure: { readonly error: unknown } | undefined;
  let count = 0;
  let isDone = false;

  const lane = async (): Promise<void> => {
    try {
      while (!isDone && !signal.aborted) {
        // The place is taken with the item: iterators answer in the order in which they are asked.
        const index = count++;
        const next = await untilAborted(Promise.resolve(iterator.next()), signal);
        if (next.done) isDone = true;
        else results[index] = await run(next.value, signal);
      }
    } catch (error) {
      failure ??= { error };
      stop.abort(error);
    }
  };

  await Promise.all(Array.from({ length: concurrency }, lane));
  if (failure === undefined && !outer?.aborted) return results;
  // A generator that is still at work answers when it is done, which may be never.
  void Promise.resolve(iterator.return?.()).catch(() => undefined);
  throw outer?.aborted ? outer.reason : failure?.error;
}
