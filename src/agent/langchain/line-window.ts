/** Some lines of a text. */
export interface LineWindow {
  /** The lines; with the end of the last one where the text ends there. */
  readonly text: string;
  /** Lines in `text`. */
  readonly count: number;
  /** Lines of the whole text; `undefined` where counting would take too long. */
  readonly totalLines: number | undefined;
}

export interface LineWindowOptions {
  /** Lines to leave out at the beginning. */
  readonly offset: number;
  readonly limit: number;
}

/** Bytes of a window; of more, only whole lines that fit, but at least one. */
const MAX_WINDOW_BYTES = 1024 * 1024;
/** Bytes that are read behind the window to count the lines. */
const MAX_COUNTED_BYTES = 16 * 1024 * 1024;
const LINE_FEED = 10;

/** Cut some lines out of a text as it comes. What is kept is bounded, whatever the text is; leaving early ends the source. */
export async function readLineWindow(chunks: AsyncIterable<Uint8Array>, options: LineWindowOptions): Promise<LineWindow> {
  const window = new Window(options);
  let countedBytes = 0;
  for await (const chunk of chunks) {
    window.add(chunk);
    if (window.isFull) countedBytes += chunk.length;
    if (countedBytes > MAX_COUNTED_BYTES) return window.end(false);
  }
  return window.end(true);
}

class Window {
  readonly #offset: number;
  readonly #limit: number;
  readonly #lines: string[] = [];
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #keptBytes = 0;
  /** Of the line that is being read. */
  #index = 0;
  #text = "";
  #textBytes = 0;
  #leftOutBytes = 0;
  #isOpen = false;
  isFull: boolean;

  constructor({ offset, limit }: LineWindowOptions) {
    this.#offset = offset;
    this.#limit = limit;
    this.isFull = limit === 0;
  }

  add(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const found = chunk.indexOf(LINE_FEED, at);
      const end = found === -1 ? chunk.length : found;
      if (this.#isInside) this.#keep(chunk.subarray(at, end));
      this.#isOpen = found === -1;
      if (found !== -1) this.#endLine();
      at = end + 1;
    }
  }

  end(isComplete: boolean): LineWindow {
    const endsWithLine = !this.#isOpen && this.#isInside && this.#lines.length > 0;
    if (this.#isOpen) this.#endLine();
    const text = this.#lines.join("\n");
    return { text: endsWithLine ? `${text}\n` : text, count: this.#lines.length, totalLines: isComplete ? this.#index : undefined };
  }

  get #isInside(): boolean {
    return !this.isFull && this.#index >= this.#offset;
  }

  #keep(piece: Uint8Array): void {
    const kept = piece.subarray(0, MAX_WINDOW_BYTES - this.#textBytes);
    this.#text += this.#decoder.decode(kept, { stream: true });
    this.#textBytes += kept.length;
    this.#leftOutBytes += piece.length - kept.length;
  }

  #endLine(): void {
    if (this.#isInside) {
      // Of a character that is cut where a line is, nothing is left.
      const rest = this.#decoder.decode();
      if (this.#lines.length > 0 && this.#keptBytes + this.#textBytes > MAX_WINDOW_BYTES) this.isFull = true;
      else {
        const leftOut = this.#leftOutBytes;
        this.#lines.push(leftOut === 0 ? this.#text + rest : `${this.#text}[… ${leftOut} bytes of this line left out …]`);
        this.#keptBytes += this.#textBytes + 1;
        this.isFull = this.#lines.length === this.#limit;
      }
      this.#text = "";
      this.#textBytes = 0;
      this.#leftOutBytes = 0;
    }
    this.#index += 1;
  }
}
