import { ConnectionError, InternalError, NotFoundError, ProtocolError, type TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { SIGNAL_WORDS } from "../shared/signal-words.js";
import { Deadline } from "../transport/deadline.js";
import { pause } from "./backoff.js";
import type { ProcessCallOptions, PtySize } from "./process-client.js";
import type { ProcessEvent, ProcessStream } from "./process-events.js";
import { isPassing, Outage } from "./resumable-stream.js";
import type { StreamLife } from "./stream-life.js";
import { type ExitFrame, type ReadyFrame, type ServerFrame, type TerminalConnection, toTerminalError } from "./terminal-connection.js";
import { TerminalInputQueue } from "./terminal-input-queue.js";

/** Output that the daemon may send before it was taken, in bytes. */
export const WINDOW_BYTES = 1024 * 1024;
const MIN_WINDOW_BYTES = 64 * 1024;
const ACK_BYTES = MIN_WINDOW_BYTES / 4;

/** Events of one terminal, and the way to type into it. */
export interface TerminalStream extends ProcessStream {
  /** Resolves when the terminal has all bytes. They are delivered in the order of the calls, each at most once. */
  sendInput(data: Uint8Array, options: ProcessCallOptions): Promise<void>;
  /** Resolves when the terminal has the size. */
  resize(size: PtySize, options: ProcessCallOptions): Promise<void>;
}

export interface TerminalStreamOptions {
  readonly operation: string;
  readonly life: StreamLife;
  /** For calls that give none, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** Attach once more; resolves with a connection that is ready. */
  reattach(ready: ReadyFrame, fromOffset: number, windowBytes: number): Promise<ReadyConnection>;
  toTimeout(): TimeoutError;
}

export interface ReadyConnection {
  readonly connection: TerminalConnection;
  readonly ready: ReadyFrame;
}

interface PendingResize {
  readonly size: PtySize;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Follow a terminal, and type into it, over as many connections as it takes: each byte in both directions once and in order.
 *
 * An end is only ever what the daemon reported.
 */
export class ResumableTerminal implements TerminalStream {
  readonly pid: number;
  readonly events: AsyncIterable<ProcessEvent>;
  readonly #options: TerminalStreamOptions;
  readonly #ready: ReadyFrame;
  readonly #outage: Outage;
  readonly #input = new TerminalInputQueue();
  readonly #resizes: PendingResize[] = [];
  readonly #queue: ProcessEvent[] = [];
  #connection: TerminalConnection | undefined;
  #nextOffset: number;
  #ackedOffset: number;
  /** Behind the last byte that the reader is done with. */
  #takenOffset: number;
  #wake: () => void = () => {};
  #ending: { readonly failure: unknown } | undefined;

  constructor(first: ReadyConnection, options: TerminalStreamOptions) {
    this.pid = first.ready.pid;
    this.#ready = first.ready;
    this.#options = options;
    this.#outage = new Outage(options.operation);
    this.#nextOffset = first.ready.offset;
    this.#ackedOffset = first.ready.offset;
    this.#takenOffset = first.ready.offset;
    this.events = this.#readEvents();
    const { signal } = options.life;
    signal.addEventListener("abort", () => this.#finish(signal.reason), { once: true });
    this.#use(first);
    if (signal.aborted) this.#finish(signal.reason);
  }

  async sendInput(data: Uint8Array, options: ProcessCallOptions): Promise<void> {
    using deadline = this.#openDeadline(options);
    const delivered = this.#input.add(data, deadline.signal);
    this.#sendWaiting();
    await delivered;
  }

  async resize(size: PtySize, options: ProcessCallOptions): Promise<void> {
    if (this.#ending !== undefined) throw this.#toInputError();
    using deadline = this.#openDeadline(options);
    await new Promise<void>((resolve, reject) => {
      // An abandoned one keeps its place: answers come in the order of the requests.
      this.#resizes.push({ size, resolve, reject });
      deadline.signal.addEventListener("abort", () => reject(deadline.signal.reason), { once: true });
      if (deadline.signal.aborted) reject(deadline.signal.reason);
      this.#connection?.send({ type: "resize", ...size });
    });
  }

  cancel(reason: unknown): void {
    this.#options.life.end(reason);
  }

  #openDeadline({ operation, signal, requestTimeoutMs }: ProcessCallOptions): Deadline {
    return new Deadline({ operation, signal, requestTimeoutMs: requestTimeoutMs ?? this.#options.requestTimeoutMs });
  }

  #use({ connection, ready }: ReadyConnection): void {
    this.#connection = connection;
    this.#input.resumeAt(ready.input_offset);
    // Before anything else: what waits in the connection makes input go out.
    connection.send({ type: "input_at", offset: ready.input_offset });
    connection.listen({
      onOutput: (bytes) => {
        this.#nextOffset += bytes.length;
        this.#outage.end();
        this.#push({ type: "pty", data: bytes });
      },
      onFrame: (frame) => this.#onFrame(frame),
      onEnd: (end) => void this.#onEnd(end),
    });
    for (const { size } of this.#resizes) connection.send({ type: "resize", ...size });
    this.#sendWaiting();
  }

  #onFrame(frame: Exclude<ServerFrame, { readonly type: "ready" | "exit" | "error" | "pong" }>): void {
    switch (frame.type) {
      case "gap":
        this.#push({ type: "gap", missingBytes: frame.missing_bytes });
        return;
      case "ack":
        this.#input.delivered(frame.input_offset);
        this.#sendWaiting();
        return;
      case "resized":
        this.#resizes.shift()?.resolve();
        return;
      case "refused": {
        const error = toTerminalError(frame.request === "input" ? "pty.sendInput" : "pty.resize", frame);
        if (frame.request === "input") this.#input.fail(error);
        else this.#resizes.shift()?.reject(error);
        return;
      }
      // Frames of a newer daemon carry nothing for us.
    }
  }

  async #onEnd(end: ExitFrame | SandboxError): Promise<void> {
    this.#connection = undefined;
    if (this.#ending !== undefined) return;
    if (!SandboxError.isInstance(end)) {
      if (end.outcome === "timed_out") this.#finish(this.#options.toTimeout());
      else {
        this.#push(toEndEvent(end));
        this.#finish(undefined);
      }
      return;
    }
    try {
      this.#use(await this.#reconnect(end));
    } catch (error) {
      this.#finish(error);
    }
  }

  async #reconnect(cause: SandboxError): Promise<ReadyConnection> {
    const { life, operation } = this.#options;
    for (let failure: unknown = cause; ; ) {
      if (!isPassing(failure)) throw failure;
      await pause(this.#outage.nextPauseMs(failure), life.signal);
      try {
        // What waits for the reader already counts.
        const windowBytes = Math.max(MIN_WINDOW_BYTES, WINDOW_BYTES - (this.#nextOffset - this.#takenOffset));
        const next = await this.#options.reattach(this.#ready, this.#nextOffset, windowBytes);
        this.#outage.connected();
        if (next.ready.offset < this.#nextOffset) {
          next.connection.drop();
          throw new ProtocolError(`${operation}: the daemon went back in the output of the terminal`, { operation });
        }
        this.#nextOffset = next.ready.offset;
        this.#ackedOffset = next.ready.offset;
        return next;
      } catch (error) {
        life.signal.throwIfAborted();
        if (SandboxError.isInstance(error) && (error.reason === "process_not_found" || error.reason === "not_found")) {
          throw toForgottenError(operation, error);
        }
        failure = error;
      }
    }
  }

  #sendWaiting(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    for (let bytes = this.#input.next(); bytes !== undefined; bytes = this.#input.next()) connection.send(bytes);
  }

  #push(event: ProcessEvent): void {
    this.#queue.push(event);
    this.#wake();
  }

  /** Nothing more happens. `failure` is `undefined` after an exit. */
  #finish(failure: unknown): void {
    if (this.#ending !== undefined) return;
    this.#ending = { failure };
    this.#connection?.drop();
    this.#connection = undefined;
    const error = this.#toInputError();
    this.#input.fail(error);
    for (const { reject } of this.#resizes.splice(0)) reject(error);
    this.#options.life[Symbol.dispose]();
    this.#wake();
  }

  #toInputError(): unknown {
    const failure = this.#ending?.failure;
    if (failure !== undefined) return failure;
    return new NotFoundError(`terminal ${this.pid} ended`, { operation: this.#options.operation }, "process_not_found");
  }

  async *#readEvents(): AsyncGenerator<ProcessEvent, void, undefined> {
    for (;;) {
      const event = this.#queue.shift();
      if (event !== undefined) {
        yield event;
        if (event.type === "pty") this.#takenOffset += event.data.length;
        else if (event.type === "gap") this.#takenOffset += event.missingBytes ?? 0;
        this.#acknowledge();
      } else if (this.#ending === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (this.#ending.failure === undefined) return;
      else throw this.#ending.failure;
    }
  }

  #acknowledge(): void {
    if (this.#takenOffset - this.#ackedOffset < ACK_BYTES) return;
    this.#ackedOffset = this.#takenOffset;
    this.#connection?.send({ type: "ack", offset: this.#takenOffset });
  }
}

function toEndEvent(exit: ExitFrame): ProcessEvent {
  if (exit.outcome === "exited" && exit.exit_code !== undefined) {
    const error = exit.exit_code === 0 ? undefined : exit.status;
    return { type: "end", exitCode: exit.exit_code, error, signal: undefined, isOutOfMemory: false };
  }
  if (exit.outcome !== "signaled" || exit.signal === undefined) throw new InternalError("the daemon sent an exit that says nothing");
  const words = (SIGNAL_WORDS as Readonly<Record<string, string | undefined>>)[exit.signal]; // any name may be looked up
  return {
    type: "end",
    exitCode: -1,
    error: words === undefined ? exit.status : `signal: ${words}`,
    signal: exit.signal,
    isOutOfMemory: false,
  };
}

function toForgottenError(operation: string, cause: unknown): ConnectionError {
  return new ConnectionError(`${operation}: the connection broke, and the daemon no longer knows the terminal: how it ended is unknown`, {
    operation,
    isRetryable: false,
    cause,
  });
}
