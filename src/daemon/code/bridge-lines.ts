/** Cuts a stream into lines, each byte looked at once however it arrives. Lines come without their end. */
export class LineCutter {
  readonly #onLine: (line: Buffer) => void;
  #parts: Buffer[] = [];

  constructor(onLine: (line: Buffer) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      const last = chunk.subarray(start, end);
      start = end + 1;
      const line = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
      this.#parts = [];
      this.#onLine(line);
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
  }
}
