import { InternalError } from "../errors/error-classes.js";
import type { FilesystemEvent, WatchStream } from "../protocol/filesystem-client.js";

/** Receives one change. A promise that it returns is awaited before the next. */
export type WatchCallback = (event: FilesystemEvent) => unknown;

/**
 * Called exactly once when a watch is over: without an error after `stop()` and a clean end, else with what ended it. What is no `Error`, as the
 * reason of an abort may be, is the `cause` of one.
 */
export type WatchExitCallback = (error?: Error) => unknown;

/** A running watch of a directory. */
export class WatchHandle implements AsyncDisposable {
  readonly #stream: WatchStream;
  readonly #finished: Promise<void>;
  #isStopped = false;

  /** @internal */
  constructor(stream: WatchStream, onEvent: WatchCallback, onExit: WatchExitCallback | undefined) {
    this.#stream = stream;
    this.#finished = this.#pump(onEvent, onExit);
  }

  /** End the watch; resolves after `onExit`. Stopping twice is fine. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stream.cancel(new InternalError("the watch was stopped"));
    await this.#finished;
  }

  /** The same as {@link WatchHandle.stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #pump(onEvent: WatchCallback, onExit: WatchExitCallback | undefined): Promise<void> {
    let failure: Error | undefined;
    try {
      for await (const event of this.#stream.events) {
        if (this.#isStopped) break;
        await onEvent(event);
      }
    } catch (error) {
      if (!this.#isStopped) failure = error instanceof Error ? error : new InternalError("the watch was ended", { cause: error });
      this.#stream.cancel(error);
    }
    try {
      await onExit?.(failure);
    } catch {
      // The watch is over and there is nobody left to tell; a failing exit callback must not end the host process.
    }
  }
}
