import { RateLimitError } from "../../errors/error-classes.js";
import { type OutputChunk, OutputCursor, type OutputKind } from "./output-cursor.js";

export interface OutputLogOptions {
  /** Bytes to keep when nobody lags behind; asked at each use, because processes share one budget. */
  readonly capacityBytes: () => number;
  /** The slowest cursor is a whole capacity behind: stop reading from the process. */
  readonly onFull: () => void;
  /** There is room again. */
  readonly onSpace: () => void;
  /** Milliseconds that a cursor may hold up others without taking anything. @defaultValue 10_000 */
  readonly stallMs?: number;
}

/** Everything that was in the log at one moment, kept for a reader that may come back. */
interface Hold {
  /** Sequence number of the first chunk that is kept. */
  readonly sequence: number;
  /** The reader saw nothing from here on. */
  readonly endOffset: number;
  readonly timer: NodeJS.Timeout;
}

const MIN_CHUNK_BYTES = 512;
const MAX_PACKED_CHUNK_BYTES = 32 * 1024;
const STALL_CHECK_MS = 1_000;
const MAX_HOLDS = 64;

/**
 * The recent output of one process, addressed by byte offset.
 *
 * Written by one reader of the process, read by any number of cursors at their own pace. Bytes that no cursor still needs are dropped
 * from the front beyond the capacity. Bytes that an attached cursor needs, or that are held for a lost one, are never dropped: instead
 * the log reports that it is full, and a cursor that holds up others without making progress fails with an error. Nothing is lost silently.
 */
export class OutputLog {
  readonly #options: OutputLogOptions;
  readonly #cursors = new Set<OutputCursor>();
  /** The oldest first. */
  readonly #holds = new Set<Hold>();
  #chunks: OutputChunk[] = [];
  /** Sequence number of `#chunks[0]`. */
  #firstSequence = 0;
  #heldBytes = 0;
  #endOffset = 0;
  #isFull = false;
  #isClosed = false;
  #stallTimer: NodeJS.Timeout | undefined;

  constructor(options: OutputLogOptions) {
    this.#options = options;
  }

  /** Offset of the oldest byte that is still here. */
  get startOffset(): number {
    return this.#chunks[0]?.offset ?? this.#endOffset;
  }

  /** Number of bytes that the process has written so far. */
  get endOffset(): number {
    return this.#endOffset;
  }

  /** Memory that the log holds, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Add output; the bytes are copied, so the caller may reuse its buffer. */
  append(kind: OutputKind, bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#isClosed) return;
    const last = this.#chunks.at(-1);
    if (last?.kind === kind && last.buffer.length - last.used >= bytes.length) {
      last.buffer.set(bytes, last.used);
      last.used += bytes.length;
    } else {
      this.#chunks.push(this.#newChunk(kind, bytes, last));
    }
    this.#endOffset += bytes.length;
    for (const cursor of this.#cursors) cursor.wake();
    this.#settle();
  }

  /** No more output will come; cursors end once they have read the rest. */
  close(): void {
    this.#isClosed = true;
    this.#stopStallCheck();
    for (const hold of this.#holds) this.#endHold(hold);
    for (const cursor of this.#cursors) cursor.wake();
  }

  /** Forget the output of an ended process to free its memory. */
  discard(): void {
    if (this.#cursors.size > 0) return;
    this.#firstSequence += this.#chunks.length;
    this.#chunks = [];
    this.#heldBytes = 0;
  }

  /**
   * Attach a reader. It starts at `fromOffset`, by default at what comes next; an offset that was dropped already moves to the oldest byte
   * still here, which the caller sees in the first piece.
   */
  openCursor(fromOffset: number = this.#endOffset): OutputCursor {
    const [hold] = [...this.#holds].filter(({ endOffset }) => endOffset >= fromOffset).sort((a, b) => a.endOffset - b.endOffset);
    let index = this.#chunks.findIndex((chunk) => chunk.offset + chunk.used > fromOffset);
    if (index < 0) index = Math.max(0, this.#chunks.length - 1);
    const chunk = this.#chunks[index];
    const within = chunk === undefined ? 0 : Math.min(chunk.used, Math.max(0, fromOffset - chunk.offset));
    const cursor = new OutputCursor(this, this.#firstSequence + index, within);
    this.#cursors.add(cursor);
    // Most likely the reader that was lost; it needs what it reads from now on itself.
    if (hold !== undefined) this.#endHold(hold);
    return cursor;
  }

  /** Drop nothing of what is here for `durationMs`, or until a cursor is opened at an offset that the lost reader may have reached. */
  hold(durationMs: number): void {
    if (this.#isClosed) return;
    const [oldest] = this.#holds;
    if (this.#holds.size >= MAX_HOLDS && oldest !== undefined) this.#endHold(oldest);
    const hold: Hold = {
      sequence: this.#firstSequence,
      endOffset: this.#endOffset,
      timer: setTimeout(() => this.#endHold(hold), durationMs),
    };
    hold.timer.unref();
    this.#holds.add(hold);
  }

  /** For cursors: the chunk with a sequence number, when it exists. */
  chunkAt(sequence: number): Readonly<OutputChunk> | undefined {
    return this.#chunks[sequence - this.#firstSequence];
  }

  /** For cursors: one of them moved on or left. */
  moved(left?: OutputCursor): void {
    if (left !== undefined) this.#cursors.delete(left);
    this.#settle();
  }

  #endHold(hold: Hold): void {
    clearTimeout(hold.timer);
    this.#holds.delete(hold);
    this.#settle();
  }

  #newChunk(kind: OutputKind, bytes: Uint8Array, last: OutputChunk | undefined): OutputChunk {
    const grown = last?.kind === kind ? Math.min(last.buffer.length * 2, MAX_PACKED_CHUNK_BYTES) : MIN_CHUNK_BYTES;
    // A slab of the shared buffer pool would be kept alive whole by a small chunk.
    const buffer = Buffer.allocUnsafeSlow(Math.max(bytes.length, grown, MIN_CHUNK_BYTES));
    buffer.set(bytes);
    this.#heldBytes += buffer.length;
    return { kind, offset: this.#endOffset, buffer, used: bytes.length };
  }

  #settle(): void {
    const capacity = this.#options.capacityBytes();
    let neededSequence = Number.POSITIVE_INFINITY;
    for (const { sequence } of this.#cursors) neededSequence = Math.min(neededSequence, sequence);
    for (const { sequence } of this.#holds) neededSequence = Math.min(neededSequence, sequence);
    let dropped = 0;
    for (const chunk of this.#chunks) {
      // The last chunk stays: it is the one that grows.
      const isDroppable = this.#heldBytes > capacity && this.#firstSequence + dropped < neededSequence && dropped < this.#chunks.length - 1;
      if (!isDroppable) break;
      this.#heldBytes -= chunk.buffer.length;
      dropped += 1;
    }
    if (dropped > 0) {
      this.#chunks.splice(0, dropped);
      this.#firstSequence += dropped;
    }
    const isFull = this.#cursors.size + this.#holds.size > 0 && this.#heldBytes > capacity;
    if (isFull && !this.#isFull) {
      this.#isFull = true;
      this.#options.onFull();
      this.#startStallCheck();
    } else if (!isFull && this.#isFull) {
      this.#isFull = false;
      this.#stopStallCheck();
      this.#options.onSpace();
    }
  }

  #startStallCheck(): void {
    this.#stallTimer ??= setInterval(() => this.#cutStalled(), STALL_CHECK_MS);
    this.#stallTimer.unref();
  }

  #stopStallCheck(): void {
    clearInterval(this.#stallTimer);
    this.#stallTimer = undefined;
  }

  #cutStalled(): void {
    const stallMs = this.#options.stallMs ?? 10_000;
    const now = performance.now();
    const stalled = [...this.#cursors].filter(
      (cursor) => now - cursor.movedAt >= stallMs && this.chunkAt(cursor.sequence + 1) !== undefined,
    );
    // A lone reader may take its time: only the process waits for it, on its own pipe.
    if (stalled.length === this.#cursors.size) return;
    for (const cursor of stalled) {
      cursor.fail(
        new RateLimitError(
          `this stream took no output for ${Math.round((now - cursor.movedAt) / 1000)} s while other readers waited: connect again and read faster`,
        ),
      );
    }
  }
}
