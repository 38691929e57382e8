import { InvalidArgumentError } from "../errors/error-classes.js";
import {
  decodeHeader,
  decodePaxRecords,
  padded,
  TAR_BLOCK_BYTES,
  type TarEntry,
  type TarHeader,
  textUntilNul,
  withoutFinalSlash,
} from "./tar-header.js";

/** One entry of an archive that is being read. */
export interface TarMember {
  readonly entry: TarEntry;
  /** The content; single use. What is not read of it is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** The most that an extended header may hold; paths are far shorter. */
const MAX_EXTENSION_BYTES = 1024 * 1024;

/**
 * Read a tar archive (ustar, pax and the long names of GNU tar) as it comes; nothing is held but one chunk.
 *
 * The source is read to its end, so that its failure after the archive is seen too.
 *
 * @throws {@link InvalidArgumentError} the data is no tar archive, ends inside of it, or uses sparse files; what the source throws.
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember, void, undefined> {
  const bytes = new ByteReader(source);
  try {
    const globals = new Map<string, string>();
    for (;;) {
      const entry = await readEntry(bytes, globals);
      if (entry === undefined) break;
      let left = entry.sizeBytes;
      yield {
        entry,
        body: (async function* () {
          while (left > 0) {
            const chunk = await bytes.next(left);
            left -= chunk.length;
            yield chunk;
          }
        })(),
      };
      while (left > 0) left -= (await bytes.next(left)).length;
      await bytes.skip(padded(entry.sizeBytes) - entry.sizeBytes);
    }
    await bytes.drain();
  } finally {
    await bytes.close();
  }
}

/** The next entry with what extended headers say about it; `undefined` at the end of the archive. */
async function readEntry(bytes: ByteReader, globals: Map<string, string>): Promise<TarEntry | undefined> {
  const records = new Map<string, string>();
  let longName: string | undefined;
  let longLink: string | undefined;
  for (;;) {
    const header = decodeHeader(await bytes.exactly(TAR_BLOCK_BYTES));
    if (header === undefined) return undefined;
    switch (header.flag) {
      case "x":
        for (const [keyword, value] of decodePaxRecords(await readExtension(bytes, header))) records.set(keyword, value);
        break;
      case "g":
        for (const [keyword, value] of decodePaxRecords(await readExtension(bytes, header))) globals.set(keyword, value);
        break;
      case "L":
        longName = textUntilNul(await readExtension(bytes, header));
        break;
      case "K":
        longLink = textUntilNul(await readExtension(bytes, header));
        break;
      default:
        return extend(
          { ...header, path: withoutFinalSlash(longName ?? header.path), linkPath: longLink ?? header.linkPath },
          new Map([...globals, ...records]),
        );
    }
  }
}

async function readExtension(bytes: ByteReader, { sizeBytes }: TarHeader): Promise<Uint8Array> {
  if (sizeBytes > MAX_EXTENSION_BYTES) throw new InvalidArgumentError(`the tar archive has an extended header of ${sizeBytes} bytes`);
  return (await bytes.exactly(padded(sizeBytes))).subarray(0, sizeBytes);
}

function extend(header: TarHeader, records: ReadonlyMap<string, string>): TarEntry {
  if (header.flag === "S" || [...records.keys()].some((keyword) => keyword.startsWith("GNU.sparse."))) {
    throw new InvalidArgumentError(`the tar archive stores '${header.path}' as a sparse file: write it without the option --sparse`);
  }
  const { kind } = header;
  const sizeBytes = numberOf(records, "size") ?? header.sizeBytes;
  if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0)
    throw new InvalidArgumentError(`the tar archive gives '${header.path}' no valid size`);
  const mtimeSeconds = numberOf(records, "mtime");
  return {
    kind,
    path: withoutFinalSlash(records.get("path") ?? header.path),
    mode: header.mode,
    // Some writers repeat the size of the first name in a hard link, with no content behind it.
    sizeBytes: kind === "file" || kind === "other" ? sizeBytes : 0,
    mtimeMs: mtimeSeconds === undefined ? header.mtimeMs : mtimeSeconds * 1000,
    linkPath: records.get("linkpath") ?? header.linkPath,
  };
}

function numberOf(records: ReadonlyMap<string, string>, keyword: string): number | undefined {
  const text = records.get(keyword);
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new InvalidArgumentError(`the tar archive has '${text.slice(0, 32)}' as ${keyword}`);
  return value;
}

/** Takes pieces of wanted lengths from a stream. */
class ByteReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#iterator = source[Symbol.asyncIterator]();
  }

  /** At least one byte and at most `limit`, without a copy. */
  async next(limit: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#iterator.next();
      if (done) throw new InvalidArgumentError("the tar archive ends in the middle");
      this.#chunk = value;
    }
    const piece = this.#chunk.subarray(0, limit);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }

  async exactly(length: number): Promise<Uint8Array> {
    const first = length === 0 ? new Uint8Array(0) : await this.next(length);
    if (first.length === length) return first;
    const all = new Uint8Array(length);
    all.set(first);
    for (let offset = first.length; offset < length; ) {
      const piece = await this.next(length - offset);
      all.set(piece, offset);
      offset += piece.length;
    }
    return all;
  }

  async skip(length: number): Promise<void> {
    for (let left = length; left > 0; ) left -= (await this.next(left)).length;
  }

  async drain(): Promise<void> {
    this.#chunk = new Uint8Array(0);
    while (!(await this.#iterator.next()).done);
  }

  async close(): Promise<void> {
    await this.#iterator.return?.();
  }
}
