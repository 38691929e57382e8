import { withoutHalfPair } from "../bounded-text.js";

/** Characters that are kept of output that nobody has read. */
const MAX_CHARACTERS = 1024 * 1024;

/** Text that a process wrote since it was last read; of much text the end is kept. */
export class RecentOutput {
  #parts: string[] = [];
  #length = 0;
  #dropped = 0;

  add(text: string): void {
    this.#parts.push(text);
    this.#length += text.length;
    // Far above the limit at times, so that many small pieces cost nothing to drop.
    if (this.#length > 2 * MAX_CHARACTERS) this.#trim();
  }

  /** What there is, which is then forgotten; a first line counts what was dropped. */
  take(): string {
    this.#trim();
    const text = this.#parts.join("");
    const notice = this.#dropped === 0 ? "" : `[...${this.#dropped} characters truncated from process output...]\n`;
    this.#parts = [];
    this.#length = 0;
    this.#dropped = 0;
    return notice + text;
  }

  #trim(): void {
    if (this.#length <= MAX_CHARACTERS) return;
    const kept = withoutHalfPair(this.#parts.join("").slice(-MAX_CHARACTERS), "start");
    this.#dropped += this.#length - kept.length;
    this.#parts = [kept];
    this.#length = kept.length;
  }
}
