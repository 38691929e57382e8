import { Duplex } from "node:stream";
import type { BulkConnection, BulkReader } from "./bulk-connection.js";

/** A connection on which a request was sent already and whose answer has begun: what is written is dropped, and what came is read again. */
export class ReplaySocket extends Duplex implements BulkReader {
  readonly #connection: BulkConnection;

  /** @param received what came so far */
  constructor(connection: BulkConnection, received: Buffer) {
    super();
    this.#connection = connection;
    connection.handTo(this);
    this.push(received);
  }

  /** The bytes are valid for this call only, so they are copied. */
  onBytes(bytes: Buffer): boolean {
    return this.push(Buffer.from(bytes));
  }

  onEnd(): void {
    this.push(null);
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(_chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.destroy();
    done(error);
  }
}
