import type { Socket } from "node:net";
import { ConnectionError } from "../../errors/error-classes.js";

/** Reads exact numbers of bytes from the beginning of a connection and leaves the rest to whoever comes next. */
export class ByteReader {
  readonly #socket: Socket;
  readonly #wake = () => this.#onChange();
  #onChange = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    for (const event of ["readable", "end", "close"]) socket.on(event, this.#wake);
  }

  /** @throws {@link ConnectionError} the connection ended before. */
  async read(size: number): Promise<Buffer> {
    for (;;) {
      const chunk: Buffer | null = size === 0 ? Buffer.alloc(0) : this.#socket.read(size);
      if (chunk?.length === size) return chunk;
      // At the end of the stream read() gives what is left, however short.
      if (chunk !== null || this.#socket.readableEnded || this.#socket.destroyed) {
        throw new ConnectionError("the connection ended in the middle of a handshake");
      }
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  /** Stop listening; later bytes stay in the socket. */
  release(): void {
    for (const event of ["readable", "end", "close"]) this.#socket.off(event, this.#wake);
  }
}
