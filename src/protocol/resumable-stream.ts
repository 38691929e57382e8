import type { ProcessEvent as WireEvent } from "../../gen/proto/agentsandbox/process/v1/process_pb.js";
import { ConnectionError, ProtocolError, type TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { SIGNAL_WORDS } from "../shared/signal-words.js";
import type { RpcStream } from "../transport/rpc.js";
import { Backoff, pause } from "./backoff.js";
import { type ProcessEnd, type ProcessEvent, type ProcessStream, toGapError } from "./process-events.js";
import { SilenceWatch, type StreamLife } from "./stream-life.js";

/** How long a stream is tried to be opened again without any success, in milliseconds. */
export const GIVE_UP_MS = 30_000;
/** A connection that lasted as long was a good one, whatever it brought. */
const GOOD_CONNECTION_MS = 2_000;

export type WireStream = RpcStream<{ readonly event?: WireEvent | undefined }>;

export interface ResumableStreamOptions {
  readonly operation: string;
  readonly life: StreamLife;
  /** Report gaps; without it they are errors. */
  readonly acceptsGaps: boolean;
  /** Open the stream of a process once more, at an offset of its output. */
  readonly attach: (startId: string, fromOffset: bigint) => Promise<WireStream>;
  readonly toTimeout: () => TimeoutError;
}

/**
 * Follow a process over as many connections as it takes: every byte of its output once, in order, and its end once.
 *
 * A cut connection is replaced by one that begins at the next byte. After {@link GIVE_UP_MS} without a good connection, or when the sandbox
 * is gone, the events reject; an end is only ever what the daemon reported.
 */
export function toResumableStream(first: WireStream, options: ResumableStreamOptions): ProcessStream {
  const { operation, life } = options;
  const begin = first.first.event?.event;
  if (begin?.case !== "started") {
    const error = new ProtocolError(`${operation}: the daemon did not begin with the pid of the process`, { operation });
    life.end(error);
    throw error;
  }
  const { pid, startId, offset } = begin.value;
  return { pid, events: readEvents(first, startId, offset, options), cancel: (reason) => life.end(reason) };
}

async function* readEvents(
  first: WireStream,
  startId: string,
  firstOffset: bigint,
  options: ResumableStreamOptions,
): AsyncGenerator<ProcessEvent, void, undefined> {
  const { operation, life } = options;
  const outage = new Outage(operation);
  let stream = first;
  let next = firstOffset;
  let hasEnded = false;
  try {
    for (;;) {
      using watch = new SilenceWatch(stream, () => toSilenceError(operation));
      try {
        for await (const { event } of stream.rest) {
          watch.busy();
          const kind = event?.event;
          if (kind?.case === "output" && kind.value.data.case !== undefined) {
            const { case: type, value: data } = kind.value.data;
            if (kind.value.offset !== next) throw toOrderError(operation);
            next += BigInt(data.length);
            outage.end();
            yield { type, data };
          } else if (kind?.case === "gap") {
            if (kind.value.offset !== next) throw toOrderError(operation);
            const missingBytes = Number(kind.value.missingBytes);
            if (!options.acceptsGaps) throw toGapError(operation, missingBytes);
            next += kind.value.missingBytes;
            yield { type: "gap", missingBytes };
          } else if (kind?.case === "ended") {
            if (kind.value.outputBytes !== next) throw toOrderError(operation);
            if (kind.value.outcome.case === "timedOut") throw options.toTimeout();
            hasEnded = true;
            yield toEnd(kind.value, operation);
          }
          watch.waiting();
        }
        if (hasEnded) return;
        throw new ProtocolError(`${operation}: the daemon completed the stream without saying how the process ended`, { operation });
      } catch (error) {
        // How the process ended is known, so it does not matter how the stream does.
        if (hasEnded) return;
        if (life.signal.aborted) throw life.signal.reason;
        if (!isPassing(error)) throw error;
        stream = await reopen(error, startId, next, outage, options);
      }
    }
  } finally {
    life[Symbol.dispose]();
  }
}

async function reopen(
  cause: unknown,
  startId: string,
  offset: bigint,
  outage: Outage,
  { operation, life, attach }: ResumableStreamOptions,
): Promise<WireStream> {
  for (let failure = cause; ; ) {
    await pause(outage.nextPauseMs(failure), life.signal);
    try {
      const stream = await attach(startId, offset);
      outage.connected();
      const begin = stream.first.event?.event;
      if (begin?.case === "started") return stream;
      failure = new ProtocolError(`${operation}: the daemon did not begin with the pid of the process`, { operation });
      stream.cancel(failure);
      throw failure;
    } catch (error) {
      if (life.signal.aborted) throw life.signal.reason;
      if (SandboxError.isInstance(error) && error.reason === "process_not_found") throw toForgottenError(operation, error);
      if (!isPassing(error)) throw error;
      failure = error;
    }
  }
}

/** A failure after which the same stream can be opened again. */
export function isPassing(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.isRetryable;
}

/** One row of failures without a good connection in between. */
export class Outage {
  readonly #operation: string;
  readonly #backoff = new Backoff();
  #beganAt: number | undefined;
  #connectedAt = performance.now();

  constructor(operation: string) {
    this.#operation = operation;
  }

  connected(): void {
    this.#connectedAt = performance.now();
  }

  /** There was progress. */
  end(): void {
    this.#beganAt = undefined;
    this.#backoff.reset();
  }

  /**
   * Milliseconds before the next try.
   *
   * @throws {@link ConnectionError} it lasts too long.
   */
  nextPauseMs(failure: unknown, limitMs = GIVE_UP_MS): number {
    const now = performance.now();
    if (this.#beganAt !== undefined && this.#connectedAt > this.#beganAt && now - this.#connectedAt >= GOOD_CONNECTION_MS) this.end();
    this.#beganAt ??= now;
    const pauseMs = this.#backoff.next();
    if (now + pauseMs - this.#beganAt > limitMs) {
      const seconds = Math.round(limitMs / 1000);
      throw new ConnectionError(`${this.#operation}: the connection broke and could not be made again within ${seconds} s`, {
        operation: this.#operation,
        cause: failure,
      });
    }
    return pauseMs;
  }
}

function toEnd({ outcome, outOfMemory }: Extract<WireEvent["event"], { case: "ended" }>["value"], operation: string): ProcessEnd {
  switch (outcome.case) {
    case "exited": {
      const error = outcome.value === 0 ? undefined : `exit status ${outcome.value}`;
      return { type: "end", exitCode: outcome.value, error, signal: undefined, isOutOfMemory: outOfMemory };
    }
    case "signaled": {
      const words = (SIGNAL_WORDS as Readonly<Record<string, string | undefined>>)[outcome.value]; // any name may be looked up
      const error = `signal: ${words ?? outcome.value}`;
      return { type: "end", exitCode: -1, error, signal: outcome.value, isOutOfMemory: outOfMemory };
    }
    default:
      throw new ProtocolError(`${operation}: the process ended in a way that this client does not know`, { operation });
  }
}

function toOrderError(operation: string): ProtocolError {
  return new ProtocolError(`${operation}: the daemon sent output that does not follow what came before`, { operation });
}

function toSilenceError(operation: string): ConnectionError {
  return new ConnectionError(`${operation}: nothing came from the daemon, not even a keepalive`, { operation });
}

function toForgottenError(operation: string, cause: unknown): ConnectionError {
  return new ConnectionError(`${operation}: the connection broke, and the daemon no longer knows the process: how it ended is unknown`, {
    operation,
    isRetryable: false,
    cause,
  });
}
