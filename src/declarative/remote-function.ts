import type { RemoteCallOptions, RemoteMapOptions } from "./remote-options.js";
import type { RemoteRunner } from "./remote-runner.js";

/** A function whose calls run in a sandbox. */
export interface RemoteFunction<Args extends readonly unknown[], Result> extends AsyncDisposable {
  /** Call it in a sandbox. Arguments and result cross as copies. */
  (...args: Args): Promise<Result>;
  /** The same function with options for its next call: `resize.with({ signal })(image)`. */
  with(options: RemoteCallOptions): (...args: Args) => Promise<Result>;
  /**
   * Call it for each item, with a bounded number of calls at a time, which share sandboxes. Results come in the order of the items. The first
   * failure ends the other calls and is thrown.
   */
  map(items: Iterable<Args[0]> | AsyncIterable<Args[0]>, options?: RemoteMapOptions): Promise<Result[]>;
  /** Kill the sandboxes that `keepAlive` keeps. */
  close(): Promise<void>;
}

/** The function `name` of what `runner` calls. Its types are the caller's word. */
export function toRemoteFunction<Args extends readonly unknown[], Result>(
  runner: RemoteRunner,
  name: string,
): RemoteFunction<Args, Result> {
  const call = (args: Args, options?: RemoteCallOptions) => runner.call(name, args, options) as Promise<Result>;
  return Object.assign((...args: Args) => call(args), {
    with:
      (options: RemoteCallOptions) =>
      (...args: Args) =>
        call(args, options),
    map: (items: Iterable<Args[0]> | AsyncIterable<Args[0]>, options?: RemoteMapOptions) =>
      runner.map(name, items, options) as Promise<Result[]>,
    close: () => runner.close(),
    [Symbol.asyncDispose]: () => runner.close(),
  });
}
