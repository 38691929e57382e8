interface Entry {
  readonly bytes: Uint8Array;
  /** Offset of its first byte in the input of the session. */
  start: number;
  resolve(): void;
  reject(error: unknown): void;
}

/** Most bytes that are sent and not yet delivered. The daemon refuses more than four times as many. */
const WINDOW_BYTES = 256 * 1024;
const MAX_FRAME_BYTES = 64 * 1024;

/**
 * Input of one terminal on its way, counted as the daemon counts it: what a new connection still has to send is sent, and nothing
 * twice.
 */
export class TerminalInputQueue {
  #entries: Entry[] = [];
  #deliveredOffset = 0;
  #sentOffset = 0;
  #endOffset = 0;
  #failure: { readonly error: unknown } | undefined;

  /**
   * Queue input. Resolves when the terminal has it.
   *
   * Aborting takes back what was not sent yet; what was sent stays on its way.
   */
  add(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (signal.aborted) return Promise.reject(signal.reason);
    if (bytes.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#takeBack(entry);
        reject(signal.reason);
      };
      const settle =
        <T extends unknown[]>(action: (...args: T) => void) =>
        (...args: T) => {
          signal.removeEventListener("abort", onAbort);
          action(...args);
        };
      const entry: Entry = { bytes, start: this.#endOffset, resolve: settle(resolve), reject: settle(reject) };
      this.#entries.push(entry);
      this.#endOffset += bytes.length;
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The next bytes to send, if any may be sent now. */
  next(): Uint8Array | undefined {
    const room = Math.min(MAX_FRAME_BYTES, WINDOW_BYTES - (this.#sentOffset - this.#deliveredOffset));
    if (room <= 0) return undefined;
    const entry = this.#entries.find(({ start, bytes }) => start + bytes.length > this.#sentOffset);
    if (entry === undefined) return undefined;
    const from = this.#sentOffset - entry.start;
    const part = entry.bytes.subarray(from, from + room);
    this.#sentOffset += part.length;
    return part;
  }

  /** The daemon has so many bytes; a new connection goes on from there. */
  resumeAt(acceptedOffset: number): void {
    this.#sentOffset = acceptedOffset;
  }

  /** The terminal has so many bytes. */
  delivered(offset: number): void {
    this.#deliveredOffset = Math.max(this.#deliveredOffset, offset);
    for (let entry = this.#entries[0]; entry !== undefined; entry = this.#entries[0]) {
      if (entry.start + entry.bytes.length > this.#deliveredOffset) return;
      this.#entries.shift();
      entry.resolve();
    }
  }

  /** Reject what waits and all that comes. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { reject } of this.#entries.splice(0)) reject(error);
  }

  #takeBack(entry: Entry): void {
    const index = this.#entries.indexOf(entry);
    if (index < 0 || entry.start < this.#sentOffset) return;
    this.#entries.splice(index, 1);
    this.#endOffset -= entry.bytes.length;
    for (const later of this.#entries.slice(index)) later.start -= entry.bytes.length;
  }
}
