import type { FileHandle } from "node:fs/promises";
import { reclaimBuffers } from "./reclaim-buffers-node.js";

/** Bytes that are gathered before they go to the kernel in one call. */
const BATCH_BYTES = 1024 * 1024;
/** Below the kernel's limit of buffers in one call (IOV_MAX, 1024). */
const BATCH_BUFFERS = 512;

/** Writes chunks to a file in large batches, one batch on its way while the next one gathers; holds at most two batches. */
export class FileWriter {
  readonly #file: FileHandle;
  #batch: Uint8Array[] = [];
  #batchBytes = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Resolves when the next chunk may come; throws the system error of an earlier batch. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#batch.push(chunk);
    this.#batchBytes += chunk.length;
    if (this.#batchBytes >= BATCH_BYTES || this.#batch.length >= BATCH_BUFFERS) await this.#flush();
  }

  /** Resolves once the kernel has all bytes. */
  async finish(): Promise<void> {
    await this.#flush();
    await this.#writing;
  }

  /** Wait for a batch on its way, whatever becomes of it, so that the file may be closed. */
  async abandon(): Promise<void> {
    await this.#writing.catch(() => {});
  }

  async #flush(): Promise<void> {
    const batch = this.#batch;
    const bytes = this.#batchBytes;
    this.#batch = [];
    this.#batchBytes = 0;
    await this.#writing;
    reclaimBuffers(bytes);
    this.#writing = writeAll(this.#file, batch);
    // Seen at the next flush or finish.
    this.#writing.catch(() => {});
  }
}

async function writeAll(file: FileHandle, buffers: Uint8Array[]): Promise<void> {
  for (let rest = buffers; rest.length > 0; ) {
    const { bytesWritten } = await file.writev(rest);
    rest = without(rest, bytesWritten);
  }
}

/** The buffers behind the first `count` bytes: the kernel may take less than it was given. */
function without(buffers: Uint8Array[], count: number): Uint8Array[] {
  let left = count;
  for (const [index, buffer] of buffers.entries()) {
    if (left < buffer.length) return [buffer.subarray(left), ...buffers.slice(index + 1)];
    left -= buffer.length;
  }
  return [];
}
