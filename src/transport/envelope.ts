import { ProtocolError } from "../errors/error-classes.js";

/** Bit of the flag byte: the payload is compressed. */
export const COMPRESSED_FLAG = 0x01;
/** Bit of the flag byte: the payload ends the stream (connectrpc.com/docs/protocol, "Streaming response"). */
export const END_STREAM_FLAG = 0x02;

/** The most bytes one message may have; a longer prefix is refused before anything is kept for it. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const PREFIX_BYTES = 5;

/** One message of a Connect stream. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array;
}

/** Put a message into the form that streams carry. */
export function encodeEnvelope(flags: number, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(PREFIX_BYTES + data.length);
  bytes[0] = flags;
  new DataView(bytes.buffer).setUint32(1, data.length);
  bytes.set(data, PREFIX_BYTES);
  return bytes;
}

/**
 * Cuts a byte stream into messages. A message that lies in one chunk is a view of it; only one that crosses chunks is copied.
 */
export class EnvelopeReader {
  readonly #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #neededBytes = PREFIX_BYTES;

  /** Bytes of an unfinished message are waiting. */
  get isInsideMessage(): boolean {
    return this.#pendingBytes > 0;
  }

  /** The messages that `chunk` completes. @throws {@link ProtocolError} a message is too large. */
  *push(chunk: Uint8Array): Generator<Envelope, void, undefined> {
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    while (this.#pendingBytes >= this.#neededBytes) {
      const bytes = this.#join();
      const end = PREFIX_BYTES + toDataView(bytes).getUint32(1);
      if (end > MAX_MESSAGE_BYTES) throw new ProtocolError(`a message of ${end} bytes is above the limit of ${MAX_MESSAGE_BYTES} bytes`);
      if (bytes.length < end) {
        this.#keep(bytes, end);
        return;
      }
      this.#keep(bytes.subarray(end), PREFIX_BYTES);
      yield { flags: bytes[0] ?? 0, data: bytes.subarray(PREFIX_BYTES, end) };
    }
  }

  #keep(bytes: Uint8Array, neededBytes: number): void {
    this.#pending.length = 0;
    if (bytes.length > 0) this.#pending.push(bytes);
    this.#pendingBytes = bytes.length;
    this.#neededBytes = neededBytes;
  }

  #join(): Uint8Array {
    const [only] = this.#pending;
    if (this.#pending.length === 1 && only !== undefined) return only;
    const all = new Uint8Array(this.#pendingBytes);
    let offset = 0;
    for (const part of this.#pending) {
      all.set(part, offset);
      offset += part.length;
    }
    return all;
  }
}

function toDataView(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
