import type { SandboxError } from "../../errors/sandbox-error.js";

/** Which stream of a process some bytes came from. */
export type OutputKind = "stdout" | "stderr" | "pty";

/** A piece of the transcript. `offset` counts the bytes of all streams of the process since its start. */
export interface OutputPiece {
  readonly kind: OutputKind;
  readonly offset: number;
  readonly sizeBytes: number;
  /** The bytes, as the log has them. */
  readonly parts: readonly Uint8Array[];
}

/** The bytes of a piece in one array. */
export function joinPiece({ parts, sizeBytes }: OutputPiece): Uint8Array {
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts, sizeBytes);
}

/** A stretch of output of one kind. */
export interface OutputChunk {
  readonly kind: OutputKind;
  readonly offset: number;
  readonly buffer: Uint8Array;
  used: number;
}

/** What a cursor needs of the log that it reads. */
export interface CursorSource {
  /** The chunk with a sequence number, when it exists. */
  chunkAt(sequence: number): Readonly<OutputChunk> | undefined;
  readonly endOffset: number;
  readonly isClosed: boolean;
  /** A cursor moved on, or left. */
  moved(left?: OutputCursor): void;
}

/** One reader's place in an log of output. Close it when the reader is gone. */
export class OutputCursor {
  readonly #log: CursorSource;
  #sequence: number;
  #within: number;
  #wakeUp: (() => void) | undefined;
  #failure: SandboxError | undefined;
  /** When the reader last took something, on the clock of `performance.now()`. */
  movedAt = performance.now();

  constructor(log: CursorSource, sequence: number, within: number) {
    this.#log = log;
    this.#sequence = sequence;
    this.#within = within;
  }

  /** Sequence number of the chunk that is read next. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Offset of the byte that is read next. */
  get offset(): number {
    const chunk = this.#log.chunkAt(this.#sequence);
    return chunk === undefined ? this.#log.endOffset : chunk.offset + this.#within;
  }

  /**
   * Up to `maxBytes` of the next output of one kind; `undefined` when there is none at the moment.
   *
   * @throws {@link RateLimitError} the log gave this cursor up.
   */
  take(maxBytes: number): OutputPiece | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    const parts: Uint8Array[] = [];
    let size = 0;
    let kind: OutputKind | undefined;
    let offset = 0;
    for (;;) {
      const chunk = this.#log.chunkAt(this.#sequence);
      if (chunk === undefined) break;
      if (this.#within < chunk.used) {
        if (kind === undefined) {
          kind = chunk.kind;
          offset = chunk.offset + this.#within;
        } else if (kind !== chunk.kind || size >= maxBytes) break;
        const part = chunk.buffer.subarray(this.#within, Math.min(chunk.used, this.#within + maxBytes - size));
        parts.push(part);
        size += part.length;
        this.#within += part.length;
        if (this.#within < chunk.used) break;
      }
      if (this.#log.chunkAt(this.#sequence + 1) === undefined) break;
      this.#sequence += 1;
      this.#within = 0;
    }
    if (kind === undefined) return undefined;
    this.movedAt = performance.now();
    this.#log.moved();
    return { kind, offset, sizeBytes: size, parts };
  }

  /** Everything was read and nothing more will come. */
  get isDone(): boolean {
    if (!this.#log.isClosed) return false;
    const chunk = this.#log.chunkAt(this.#sequence);
    return chunk === undefined || (this.#within >= chunk.used && this.#log.chunkAt(this.#sequence + 1) === undefined);
  }

  /** Call `action` once, at the next output, at the end or at a failure. A cursor has one waiter. */
  onWake(action: (() => void) | undefined): void {
    this.#wakeUp = action;
  }

  wake(): void {
    const wakeUp = this.#wakeUp;
    this.#wakeUp = undefined;
    wakeUp?.();
  }

  /** Give this reader up; its next `take` throws `error`. */
  fail(error: SandboxError): void {
    this.#failure = error;
    this.#log.moved(this);
    this.wake();
  }

  close(): void {
    this.#log.moved(this);
    this.wake();
  }
}
