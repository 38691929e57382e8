import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const PIECE_BYTES = 4 * 1024 * 1024;
/** So much goes one way before the ways are compared. */
const STRETCH_PIECES = 8;
/** Writes beside the page cache begin and end at multiples of it. */
const BLOCK_BYTES = 4096;
/** Of the memory of WebAssembly. */
const PAGE_BYTES = 65_536;

/** `direct` writes to the disk at once, `cached` into memory from where the kernel writes later. */
type Way = "direct" | "cached";

/**
 * Copies contents of large files the way that is faster on this machine. A copy that nobody reads soon needs no place in the page cache, and a fast
 * disk takes it sooner than memory is found for it, above all in a virtual machine whose memory was never used; a slow disk does not.
 */
export class ContentsCopier {
  /** Memory of WebAssembly begins at a page, which a write beside the cache asks for and nothing else of JavaScript promises. */
  readonly #memory = new WebAssembly.Memory({ initial: (2 * PIECE_BYTES) / PAGE_BYTES }).buffer;
  /** Bytes per millisecond. The last stretch counts half, so that one stall does not decide. */
  readonly #rates = new Map<Way, number>();

  /** Make the file `to`, which must not exist, from the first `size` bytes of `from`. */
  async copy(from: Buffer, to: Buffer, size: number): Promise<void> {
    const source = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const cached = await open(to, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
      try {
        await cached.truncate(size);
        const direct = await open(to, constants.O_WRONLY | constants.O_DIRECT).catch(() => cached);
        try {
          await this.#copyPieces(source, { direct, cached }, size);
        } finally {
          if (direct !== cached) await direct.close();
        }
      } finally {
        await cached.close();
      }
    } finally {
      await source.close();
    }
  }

  async #copyPieces(source: FileHandle, targets: Readonly<Record<Way, FileHandle>>, size: number): Promise<void> {
    const pieces = Math.ceil(size / PIECE_BYTES);
    let next = readPiece(source, this.#buffer(0), 0);
    for (let first = 0; first < pieces; first += STRETCH_PIECES) {
      const way = this.#fasterWay();
      const beganAt = performance.now();
      const end = Math.min(first + STRETCH_PIECES, pieces);
      for (let index = first; index < end; index += 1) {
        const piece = await next;
        // The next one is read while this one is written.
        const isLast = index + 1 === pieces;
        if (!isLast) next = readPiece(source, this.#buffer(index + 1), (index + 1) * PIECE_BYTES);
        const written = writePiece(targets, way, piece, index * PIECE_BYTES);
        await Promise.all([written, isLast ? undefined : next]);
      }
      if (end - first < STRETCH_PIECES) continue;
      const rate = (STRETCH_PIECES * PIECE_BYTES) / (performance.now() - beganAt);
      this.#rates.set(way, (rate + (this.#rates.get(way) ?? rate)) / 2);
    }
  }

  #fasterWay(): Way {
    const direct = this.#rates.get("direct");
    const cached = this.#rates.get("cached");
    if (direct === undefined) return "direct";
    return cached === undefined || cached > direct ? "cached" : "direct";
  }

  #buffer(index: number): Uint8Array {
    return new Uint8Array(this.#memory, (index % 2) * PIECE_BYTES, PIECE_BYTES);
  }
}

/** Less than the buffer takes only at the end of the file. */
async function readPiece(source: FileHandle, buffer: Uint8Array, position: number): Promise<Uint8Array> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await source.read(buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

async function writePiece(targets: Readonly<Record<Way, FileHandle>>, way: Way, piece: Uint8Array, position: number): Promise<void> {
  const aligned = way === "direct" ? piece.length - (piece.length % BLOCK_BYTES) : 0;
  // What a disk with larger blocks refuses, and the end of a file, goes through the cache.
  const written =
    aligned === 0 ? 0 : await targets.direct.write(piece, 0, aligned, position).then(({ bytesWritten }) => bytesWritten, orNothing);
  for (let offset = written; offset < piece.length; ) {
    const { bytesWritten } = await targets.cached.write(piece, offset, piece.length - offset, position + offset);
    offset += bytesWritten;
  }
}

function orNothing(error: NodeJS.ErrnoException): number {
  if (error.code === "EINVAL") return 0;
  throw error;
}
