import type { OnReadOpts, Socket } from "node:net";

/** Bytes of one read. More saves nothing; less costs a system call and a callback each time. */
const READ_BYTES = 256 * 1024;
/** Buffers of closed connections that are kept for the next ones. */
const MAX_FREE_BUFFERS = 16;
const freeBuffers: Buffer[] = [];

/** Takes what arrives. The bytes are valid until the return, or until `resume` when it returns false. */
export interface BulkReader {
  /** False stops the reading until {@link BulkConnection.resume}. */
  onBytes(bytes: Buffer): boolean;
  /** The connection ended. */
  onEnd(): void;
}

/**
 * A connection to a daemon that reads into one buffer again and again.
 *
 * Node's HTTP parser allocates and copies every piece of a body; for large files that is two thirds of the cost of a proxy.
 */
export class BulkConnection {
  #socket: Socket | undefined;
  #reader: BulkReader | undefined;

  /** @param connect opens the socket with the given way of reading. */
  static async open(connect: (onread: OnReadOpts) => Promise<Socket>): Promise<BulkConnection> {
    const connection = new BulkConnection();
    const buffer = freeBuffers.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES);
    const socket = await connect({
      buffer,
      callback: (size) => {
        // Bytes that nobody asked for: the daemon does not keep to the protocol.
        if (connection.#reader === undefined) connection.destroy();
        return connection.#reader?.onBytes(buffer.subarray(0, size)) ?? false;
      },
    });
    connection.#socket = socket;
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      if (freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer);
      connection.#reader?.onEnd();
    });
    return connection;
  }

  get isOpen(): boolean {
    return this.#socket?.destroyed === false && this.#socket.writable;
  }

  /** Send the head of a request and its body, and give what comes to `reader`, until {@link release}. */
  send(head: string, body: Buffer, reader: BulkReader): void {
    this.handTo(reader);
    this.#socket?.write(body.length === 0 ? Buffer.from(head, "latin1") : Buffer.concat([Buffer.from(head, "latin1"), body]));
  }

  /** Give what comes from now on to another reader. */
  handTo(reader: BulkReader): void {
    this.#reader = reader;
    // It may have ended while nobody listened.
    if (this.#socket?.destroyed) setImmediate(() => this.#reader === reader && reader.onEnd());
  }

  /** Go on reading. */
  resume(): void {
    this.#socket?.resume();
  }

  /** The answer is complete; the connection can serve another request. */
  release(): void {
    this.#reader = undefined;
  }

  destroy(): void {
    this.#reader = undefined;
    this.#socket?.destroy();
  }
}
