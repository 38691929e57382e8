import { writeSync } from "node:fs";
import { InternalError, RateLimitError } from "../../errors/error-classes.js";
import type { ProcessInput } from "./input-writer.js";

interface Waiting {
  readonly bytes: Uint8Array;
  written: number;
  resolve(): void;
  reject(error: unknown): void;
}

const MAX_QUEUED_BYTES = 64 * 1024 * 1024;
const FIRST_PAUSE_MS = 1;
const MAX_PAUSE_MS = 50;

/**
 * Types into one terminal, in the order of the calls.
 *
 * Not a stream of Node: it writes to a controlling side as if that blocked, and then spins, with the whole daemon, for a program that
 * does not read. Here a full terminal is tried again after a pause, as nothing tells when it has room.
 */
export class TerminalInput implements ProcessInput {
  readonly #fd: () => number | undefined;
  readonly #queue: Waiting[] = [];
  #queuedBytes = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;

  /** @param fd the non-blocking controlling side; `undefined` once the program ended. */
  constructor(fd: () => number | undefined) {
    this.#fd = fd;
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#fd() === undefined) return Promise.reject(closed());
    if (bytes.length === 0) return Promise.resolve();
    if (this.#queuedBytes + bytes.length > MAX_QUEUED_BYTES) {
      return Promise.reject(new RateLimitError(`${this.#queuedBytes} bytes of input wait already: the program does not read them`));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes, written: 0, resolve, reject });
      this.#queuedBytes += bytes.length;
      if (this.#timer === undefined) this.#flush();
    });
  }

  /** A terminal has no end of input: a program takes the byte 0x04 for one. */
  close(): void {}

  destroy(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#fail(closed());
  }

  #flush(): void {
    this.#timer = undefined;
    try {
      for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
        const fd = this.#fd();
        if (fd === undefined) throw closed();
        next.written += writeSync(fd, next.bytes, next.written);
        this.#pauseMs = FIRST_PAUSE_MS;
        if (next.written < next.bytes.length) continue;
        this.#queue.shift();
        this.#queuedBytes -= next.bytes.length;
        next.resolve();
      }
    } catch (error) {
      if (error instanceof Error && "code" in error && (error.code === "EAGAIN" || error.code === "EINTR")) {
        this.#timer = setTimeout(() => this.#flush(), this.#pauseMs);
        this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs * 2);
      } else {
        this.#fail(error instanceof InternalError ? error : closed(error));
      }
    }
  }

  #fail(error: unknown): void {
    this.#queuedBytes = 0;
    for (const { reject } of this.#queue.splice(0)) reject(error);
  }
}

function closed(cause?: unknown): InternalError {
  return new InternalError("the terminal closed before all input was delivered", cause === undefined ? undefined : { cause });
}
