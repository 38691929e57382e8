const MAX_LINE_LENGTH = 256 * 1024;

/** Cuts a stream of UTF-8 into lines, without their ends. A line that does not end is given in pieces. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  #rest = "";

  add(bytes: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.decode(bytes, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_LENGTH) lines.push(...this.rest());
    return lines;
  }

  /** What is left at the end, or of a line that is too long. */
  rest(): string[] {
    const line = this.#rest;
    this.#rest = "";
    return line === "" ? [] : [line];
  }
}
