import type { Socket } from "node:net";
import { InternalError, RateLimitError } from "../../errors/error-classes.js";

const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

/** The input of one process. */
export interface ProcessInput {
  /**
   * Resolves when the kernel has all bytes, which waits for a process that does not read.
   *
   * @throws {@link InternalError} the input is closed; {@link RateLimitError} too much waits already.
   */
  write(bytes: Uint8Array): Promise<void>;
  /** End of file, after what was written before. Idempotent. */
  close(): void;
  /** Drop everything: the process is gone. */
  destroy(): void;
}

/** Feeds the standard input of one process through a pipe, in the order of the calls. */
export class InputWriter implements ProcessInput {
  readonly #socket: Socket;
  #isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // A reader that went away shows as the failure of a write.
    socket.on("error", () => {
      this.#isClosed = true;
    });
    socket.on("close", () => {
      this.#isClosed = true;
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.reject(new InternalError("the input of the process is closed"));
    if (bytes.length === 0) return Promise.resolve();
    if (this.#socket.writableLength + bytes.length > MAX_QUEUED_BYTES) {
      return Promise.reject(
        new RateLimitError(`${this.#socket.writableLength} bytes of input wait already: the process does not read them`),
      );
    }
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (cause) => {
        if (cause) reject(new InternalError("the process closed its input before all bytes were delivered", { cause }));
        else resolve();
      });
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.end();
  }

  destroy(): void {
    this.#isClosed = true;
    this.#socket.destroy();
  }
}
