import { formatBytes } from "./format-bytes.js";

/** Milliseconds between two drawings. */
const REDRAW_MS = 100;
const BAR_CELLS = 20;
const ERASE_LINE = "\r\u001b[2K";

/** How far work is. */
export interface ProgressState {
  readonly bytes: number;
  /** Bytes in all, where that is known: it makes a bar. */
  readonly totalBytes?: number | undefined;
  /** Files and directories so far. */
  readonly entryCount?: number | undefined;
}

/** One line that is drawn again and again on a terminal, and erased at the end; elsewhere nothing is written. */
export class Progress implements Disposable {
  readonly #label: string;
  readonly #stream: NodeJS.WriteStream;
  readonly #isShown: boolean;
  readonly #startedAtMs = performance.now();
  #drawnAtMs = 0;

  constructor(label: string, stream: NodeJS.WriteStream, isQuiet: boolean) {
    this.#label = label;
    this.#stream = stream;
    this.#isShown = stream.isTTY === true && !isQuiet;
  }

  readonly update = (state: ProgressState): void => {
    const nowMs = performance.now();
    const isComplete = state.bytes === state.totalBytes;
    if (!this.#isShown || (nowMs - this.#drawnAtMs < REDRAW_MS && !isComplete)) return;
    this.#drawnAtMs = nowMs;
    const line = formatProgress(this.#label, state, nowMs - this.#startedAtMs);
    this.#stream.write(`${ERASE_LINE}${line.slice(0, Math.max(0, (this.#stream.columns || 80) - 1))}`);
  };

  [Symbol.dispose](): void {
    if (this.#isShown && this.#drawnAtMs > 0) this.#stream.write(ERASE_LINE);
  }
}

/** Such as `a.iso [##########----------]  50 %  1.0 GiB  93.1 MiB/s`. */
export function formatProgress(label: string, { bytes, totalBytes, entryCount }: ProgressState, elapsedMs: number): string {
  const parts = [label];
  if (totalBytes !== undefined) {
    const share = totalBytes === 0 ? 1 : Math.min(1, bytes / totalBytes);
    const filled = Math.floor(share * BAR_CELLS);
    parts.push(`[${"#".repeat(filled)}${"-".repeat(BAR_CELLS - filled)}]`, `${String(Math.floor(share * 100)).padStart(3)} %`);
  }
  if (entryCount !== undefined) parts.push(`${entryCount} entries`);
  parts.push(formatBytes(bytes), `${formatBytes((bytes * 1_000) / Math.max(1, elapsedMs))}/s`);
  return parts.join("  ");
}
