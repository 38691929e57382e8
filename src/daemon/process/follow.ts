import { Code, ConnectError } from "@connectrpc/connect";
import type { ManagedProcess } from "./managed-process.js";
import type { OutputCursor, OutputPiece } from "./output-cursor.js";

/** A reader that is behind gets output in larger pieces, which cost less for each byte. */
const MAX_DATA_BYTES = 256 * 1024;

export interface FollowOptions<T> {
  /** The reader left, or its deadline passed. */
  readonly signal: AbortSignal;
  /** Silence after which a keepalive is sent, in milliseconds. */
  readonly keepaliveMs: number;
  /** Called before the place of a reader is given up that left before the end. */
  readonly onLost?: () => void;
  /** The messages of the service. */
  readonly messages: FollowMessages<T>;
}

/** How a service puts what happens to a process into its messages. */
export interface FollowMessages<T> {
  /** First of the stream, with all that is known when it begins. */
  started(process: ManagedProcess, cursor: OutputCursor): Iterable<T>;
  output(piece: OutputPiece): T;
  keepalive(): T;
  /** Last of the stream. @throws an error that ends the stream instead */
  ended(process: ManagedProcess): T;
}

/**
 * The events of one stream, in the order of the contract: the start, then output and keepalives, then the end once.
 *
 * Leaving the stream never touches the process. When a stream is cut, no end is made up. The cursor belongs to the stream from here on.
 */
export async function* followProcess<T>(process: ManagedProcess, cursor: OutputCursor, options: FollowOptions<T>): AsyncGenerator<T> {
  const { signal, messages } = options;
  let isOver = false;
  const release = () => {
    if (!isOver) options.onLost?.();
    isOver = true;
    cursor.close();
  };
  // The response of a vanished client may never ask for the next event, so `finally` alone is not enough.
  signal.addEventListener("abort", release, { once: true });
  try {
    yield* messages.started(process, cursor);
    for (;;) {
      assertConnected(signal);
      const piece = cursor.take(MAX_DATA_BYTES);
      if (piece !== undefined) yield messages.output(piece);
      else if (cursor.isDone) break;
      else if ((await waitForOutput(cursor, signal, options.keepaliveMs)) === "silence") yield messages.keepalive();
    }
    isOver = true;
    yield messages.ended(process);
  } finally {
    signal.removeEventListener("abort", release);
    release();
  }
}

function assertConnected(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw signal.reason instanceof ConnectError ? signal.reason : new ConnectError("the client left the stream", Code.Canceled);
}

function waitForOutput(cursor: OutputCursor, signal: AbortSignal, silenceMs: number): Promise<"change" | "silence"> {
  return new Promise((resolve) => {
    const finish = (result: "change" | "silence") => {
      clearTimeout(timer);
      cursor.onWake(undefined);
      signal.removeEventListener("abort", onChange);
      resolve(result);
    };
    const onChange = () => finish("change");
    const timer = setTimeout(() => finish("silence"), silenceMs);
    cursor.onWake(onChange);
    signal.addEventListener("abort", onChange, { once: true });
    if (signal.aborted) onChange();
  });
}
