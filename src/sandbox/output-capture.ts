import { concatBytes } from "../shared/concat-bytes.js";
/** What is kept of one stream of output for the result of a command. */
export interface OutputCapture {
  /** @param text what the bytes completed, where somebody decoded the stream already */
  add(bytes: Uint8Array, text: string | undefined): void;
  /** No more will come. @param text as in `add` */
  end(text: string | undefined): void;
  /** The text so far; a character that is cut at the end of what has come appears once it is whole. */
  readonly text: string;
  /** Bytes that the text leaves out. */
  readonly omittedBytes: number;
}

/** Keep everything, or at most `maxBytes`: the first half and the last half, with a mark in between. */
export function createOutputCapture(maxBytes: number | undefined): OutputCapture {
  return maxBytes === undefined ? new WholeOutput() : new HeadAndTail(maxBytes);
}

/** A decoder for one stream; a byte order mark is output like any other. */
export function createOutputDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

class WholeOutput implements OutputCapture {
  readonly omittedBytes = 0;
  readonly #decoder = createOutputDecoder();
  #parts: string[] = [];

  add(bytes: Uint8Array, text = this.#decoder.decode(bytes, { stream: true })): void {
    this.#parts.push(text);
  }

  end(text = this.#decoder.decode()): void {
    this.#parts.push(text);
  }

  get text(): string {
    // One string from now on, so that asking often is cheap.
    if (this.#parts.length > 1) this.#parts = [this.#parts.join("")];
    return this.#parts[0] ?? "";
  }
}

class HeadAndTail implements OutputCapture {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Uint8Array[] = [];
  #headBytes = 0;
  #tail: Uint8Array[] = [];
  #tailBytes = 0;
  #totalBytes = 0;

  constructor(maxBytes: number) {
    this.#headLimit = Math.ceil(maxBytes / 2);
    this.#tailLimit = maxBytes - this.#headLimit;
  }

  add(bytes: Uint8Array): void {
    this.#totalBytes += bytes.length;
    const forHead = bytes.subarray(0, this.#headLimit - this.#headBytes);
    if (forHead.length > 0) this.#head.push(forHead.slice());
    this.#headBytes += forHead.length;
    const forTail = bytes.subarray(Math.max(forHead.length, bytes.length - this.#tailLimit));
    if (forTail.length === 0) return;
    // Copied, because a view keeps the whole network buffer alive.
    this.#tail.push(forTail.slice());
    this.#tailBytes += forTail.length;
    // Far above the limit at times, so that many small pieces cost nothing to drop.
    if (this.#tailBytes > 2 * this.#tailLimit + 4096) this.#trimTail();
  }

  end(): void {}

  get omittedBytes(): number {
    this.#trimTail();
    return this.#totalBytes - this.#headBytes - this.#tailBytes;
  }

  get text(): string {
    const omittedBytes = this.omittedBytes;
    const head = concatBytes(this.#head, this.#headBytes);
    const tail = concatBytes(this.#tail, this.#tailBytes);
    const decode = (bytes: Uint8Array) => createOutputDecoder().decode(bytes);
    if (omittedBytes === 0) return decode(concatBytes([head, tail], head.length + tail.length));
    if (head.length + tail.length === 0) return "";
    return `${decode(withoutPartialEnd(head))}\n[... ${omittedBytes} bytes left out ...]\n${decode(withoutPartialStart(tail))}`;
  }

  #trimTail(): void {
    const excess = this.#tailBytes - this.#tailLimit;
    if (excess <= 0) return;
    this.#tail = [concatBytes(this.#tail, this.#tailBytes).slice(excess)];
    this.#tailBytes = this.#tailLimit;
  }
}

/** Cut a character that the end of the bytes splits (UTF-8: continuation bytes are 10xxxxxx). */
function withoutPartialEnd(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function withoutPartialStart(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < Math.min(3, bytes.length) && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return bytes.subarray(start);
}
