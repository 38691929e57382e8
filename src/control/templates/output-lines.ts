type Stream = "stdout" | "stderr";

const MAX_LINE_CHARACTERS = 4_000;

/** Cuts output into lines for a log; text that is split between chunks is put together. */
export class OutputLines {
  readonly #onLine: (line: string, stream: Stream) => void;
  readonly #decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  readonly #rest = { stdout: "", stderr: "" };
  #lastLine: string | undefined;

  constructor(onLine: (line: string, stream: Stream) => void) {
    this.#onLine = onLine;
  }

  /** The last line that was not empty. */
  get lastLine(): string | undefined {
    return this.#lastLine;
  }

  add(bytes: Uint8Array, stream: Stream): void {
    const text = this.#rest[stream] + this.#decoders[stream].decode(bytes, { stream: true });
    const lines = text.split("\n");
    this.#rest[stream] = lines.pop() ?? "";
    for (const line of lines) this.#emit(line, stream);
    if (this.#rest[stream].length > MAX_LINE_CHARACTERS) {
      this.#emit(this.#rest[stream], stream);
      this.#rest[stream] = "";
    }
  }

  /** Give what no line feed ended. */
  end(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#rest[stream] !== "") this.#emit(this.#rest[stream], stream);
      this.#rest[stream] = "";
    }
  }

  #emit(line: string, stream: Stream): void {
    // A progress bar writes its line again after each carriage return; the last state counts.
    const shown = line.replace(/\r+$/, "").split("\r").at(-1) ?? "";
    if (shown.trim() === "") return;
    this.#lastLine = shown.slice(0, MAX_LINE_CHARACTERS);
    this.#onLine(this.#lastLine, stream);
  }
}
