import { FailedPreconditionError } from "../../errors/error-classes.js";
import { ChangeNotice } from "../../shared/change-notice.js";

/** What a piece costs beside its bytes, so that many small ones are bounded too. */
const PIECE_BYTES = 256;

/** How much of a stream waits for its reader, and for how long. */
export interface OutputPipeLimits {
  readonly bufferBytes: number;
  /** Milliseconds for which a full buffer waits for a reader that takes nothing; `0` without end. */
  readonly stallMs: number;
}

/**
 * One stream of output between a process and a reader. A full buffer makes the process wait; a reader that takes nothing for too long gets
 * what is in the buffer and then an error that counts what it missed, so that a stream which nobody reads does not stop the process.
 */
export class OutputPipe {
  readonly readable: ReadableStream<Uint8Array>;
  readonly #name: string;
  readonly #limits: OutputPipeLimits;
  #pieces: Uint8Array[] = [];
  #keptBytes = 0;
  #droppedBytes = 0;
  #takenCount = 0;
  #state: "open" | "stalled" | "cancelled" = "open";
  #hasRoomForAll = false;
  #end: { readonly failure?: unknown } | undefined;
  readonly #news = new ChangeNotice();

  constructor(name: "stdout" | "stderr", limits: OutputPipeLimits) {
    this.#name = name;
    this.#limits = limits;
    this.readable = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => this.#give(controller),
        cancel: () => {
          this.#state = "cancelled";
          this.#pieces = [];
          this.#news.tell();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Take a piece; resolves when there is room for more. */
  readonly write = async (data: Uint8Array): Promise<void> => {
    if (this.#state === "cancelled" || this.#end !== undefined || data.length === 0) return;
    if (this.#state === "stalled") {
      this.#droppedBytes += data.length;
      return;
    }
    // A small view would keep the whole buffer of the network alive.
    this.#pieces.push(data.slice());
    this.#keptBytes += data.length + PIECE_BYTES;
    this.#news.tell();
    while (this.#isFull) await this.#untilTaken();
  };

  /** The process is about to end, so what still comes is little and shall not wait. */
  openWide(): void {
    this.#hasRoomForAll = true;
    this.#news.tell();
  }

  /** Nothing more comes. */
  end(): void {
    this.#finish({});
  }

  /** Nothing more comes, and the reader shall know why. */
  fail(failure: unknown): void {
    this.#finish({ failure });
  }

  get #isFull(): boolean {
    return this.#state === "open" && this.#end === undefined && !this.#hasRoomForAll && this.#keptBytes > this.#limits.bufferBytes;
  }

  #finish(end: { readonly failure?: unknown }): void {
    this.#end ??= end;
    this.#news.tell();
  }

  async #give(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    while (this.#pieces.length === 0 && this.#state === "open" && this.#end === undefined) await this.#news.next();
    const piece = this.#pieces.shift();
    if (piece !== undefined) {
      this.#keptBytes -= piece.length + PIECE_BYTES;
      this.#takenCount += 1;
      controller.enqueue(piece);
      this.#news.tell();
    } else if (this.#state === "stalled") controller.error(this.#toStallError());
    else if (this.#end !== undefined && "failure" in this.#end) controller.error(this.#end.failure);
    else if (this.#state === "open") controller.close();
  }

  async #untilTaken(): Promise<void> {
    const { stallMs } = this.#limits;
    const before = this.#takenCount;
    const giveUp = (): void => {
      if (this.#takenCount !== before || !this.#isFull) return;
      this.#state = "stalled";
      this.#news.tell();
    };
    const timer = stallMs === 0 ? undefined : setTimeout(giveUp, stallMs);
    await this.#news.next();
    clearTimeout(timer);
  }

  #toStallError(): FailedPreconditionError {
    return new FailedPreconditionError(
      `${this.#droppedBytes} bytes of ${this.#name} and what follows are missing here: the buffer was full and nobody read for ${this.#limits.stallMs} ms; ` +
        "read both streams, or cancel the one that is not needed",
    );
  }
}
