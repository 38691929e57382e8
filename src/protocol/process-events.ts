import { ConnectionError } from "../errors/error-classes.js";

/** What a process wrote, what of it is missing, or how it ended. */
export type ProcessEvent =
  | { readonly type: "stdout" | "stderr" | "pty"; readonly data: Uint8Array }
  /** Output that a broken connection cost; `missingBytes` is `undefined` where the daemon does not count it. */
  | { readonly type: "gap"; readonly missingBytes: number | undefined }
  | ProcessEnd;

/** How a process ended, as its daemon reported it. */
export interface ProcessEnd {
  readonly type: "end";
  /** `-1` when a signal ended it. */
  readonly exitCode: number;
  readonly error: string | undefined;
  /** Name of the signal that ended it. */
  readonly signal: string | undefined;
  /** The kernel ended it for want of memory. */
  readonly isOutOfMemory: boolean;
}

/** Events of one process. */
export interface ProcessStream {
  readonly pid: number;
  /** Ends after the `end` event; every other end rejects. */
  readonly events: AsyncIterable<ProcessEvent>;
  /** Drop the stream, which leaves the process alone: `events` rejects with `reason`. */
  cancel(reason: unknown): void;
}

/** The error of a reader that needs every byte. */
export function toGapError(operation: string, missingBytes: number | undefined, cause?: unknown): ConnectionError {
  const what = missingBytes === undefined ? "output of the process may be missing" : `${missingBytes} bytes of output are missing`;
  return new ConnectionError(`${operation}: the connection broke and ${what}`, { operation, isRetryable: false, cause });
}
