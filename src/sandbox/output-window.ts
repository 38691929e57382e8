import { ChangeNotice } from "../shared/change-notice.js";

/** What a window has for a reader: an item, a count of bytes that it came too late for, or nothing any more. */
export type WindowItem<T> = { readonly item: T } | { readonly missingBytes: number } | undefined;

interface Entry<T> {
  readonly item: T;
  readonly sizeBytes: number;
}

interface Reader {
  next: number;
}

/**
 * The recent output of a command for those who iterate over it.
 *
 * Without a limit everything is kept, and each reader starts at the beginning. With one, old items are dropped unless a reader still needs
 * them; then the writer waits for that reader.
 */
export class OutputWindow<T> {
  readonly #limitBytes: number;
  #entries: Entry<T>[] = [];
  #firstIndex = 0;
  #keptBytes = 0;
  #droppedBytes = 0;
  #isEnded = false;
  readonly #readers = new Set<Reader>();
  readonly #news = new ChangeNotice();

  constructor(limitBytes: number | undefined) {
    this.#limitBytes = limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Add an item; resolves when the slowest reader is near enough. */
  add(item: T, sizeBytes: number): Promise<void> | undefined {
    this.#entries.push({ item, sizeBytes });
    this.#keptBytes += sizeBytes;
    this.#drop();
    this.#news.tell();
    return this.#isTooFull ? this.#untilRoom() : undefined;
  }

  /** No more will come. */
  end(): void {
    this.#isEnded = true;
    this.#news.tell();
  }

  /** Everything that is still here, and then what comes, until the end. */
  async *read(): AsyncGenerator<Exclude<WindowItem<T>, undefined>, void, undefined> {
    const reader: Reader = { next: this.#firstIndex };
    this.#readers.add(reader);
    try {
      if (this.#droppedBytes > 0) yield { missingBytes: this.#droppedBytes };
      for (;;) {
        const entry = this.#entries[reader.next - this.#firstIndex];
        if (entry !== undefined) {
          reader.next += 1;
          yield { item: entry.item };
          this.#drop();
          this.#news.tell();
        } else if (this.#isEnded) return;
        else await this.#news.next();
      }
    } finally {
      this.#readers.delete(reader);
      this.#drop();
      this.#news.tell();
    }
  }

  get #isTooFull(): boolean {
    return this.#readers.size > 0 && this.#keptBytes > this.#limitBytes && !this.#isEnded;
  }

  async #untilRoom(): Promise<void> {
    while (this.#isTooFull) await this.#news.next();
  }

  #drop(): void {
    let needed = Number.POSITIVE_INFINITY;
    for (const { next } of this.#readers) needed = Math.min(needed, next);
    let count = 0;
    for (const { sizeBytes } of this.#entries) {
      if (this.#keptBytes <= this.#limitBytes || this.#firstIndex + count >= needed) break;
      this.#keptBytes -= sizeBytes;
      this.#droppedBytes += sizeBytes;
      count += 1;
    }
    if (count === 0) return;
    this.#entries = this.#entries.slice(count);
    this.#firstIndex += count;
  }
}
