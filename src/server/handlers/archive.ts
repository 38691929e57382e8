import { createGzip } from "node:zlib";
import { Zip, ZipDeflate, ZipPassThrough } from "fflate";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { encodeTarEntry, padded, TAR_BLOCK_BYTES } from "../../shared/tar-header.js";
import { type ArchiveEntry, archiveEntries } from "../archive-entries.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { type Fields, oneOf } from "../fields.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const MAX_ARCHIVE_BYTES = 100 * 1024 * 1024;
const MAX_PATHS = 10_000;
const FORMATS = ["tar.gz", "zip"] as const;
/** File type bits of a mode, which zip archives of Unix carry in the upper half of an attribute (APPNOTE 4.4.15). */
const ZIP_TYPE_BITS = { file: 0o100000, directory: 0o040000, symlink: 0o120000 } as const;
const ZIP_MADE_BY_UNIX = 3;
/** Times of zip archives begin in 1980. */
const ZIP_FIRST_MS = Date.UTC(1980, 0, 2);

/** Pack files into an archive. */
export function createArchiveHandler({ files, config }: ServerServices): Pick<RouteHandlers, "archiveFiles"> {
  return {
    archiveFiles: async ({ body }) => {
      const paths = toPaths(body);
      const format = oneOf(body.format, "format", FORMATS, "tar.gz");
      const entries = archiveEntries(files, paths, Math.min(MAX_ARCHIVE_BYTES, config.maxUploadBytes));
      const bytes = await (format === "zip" ? packZip(entries) : packTarGz(entries));
      return { content_base64: bytes.toString("base64"), format, bytes: bytes.length };
    },
  };
}

function toPaths({ paths }: Fields): readonly string[] {
  if (!Array.isArray(paths) || paths.length === 0 || paths.length > MAX_PATHS || !paths.every((path) => typeof path === "string")) {
    throw new InvalidArgumentError(`'paths' must be a list of 1 to ${MAX_PATHS} texts`);
  }
  return paths as string[]; // every element was looked at
}

async function packTarGz(entries: AsyncIterable<ArchiveEntry>): Promise<Buffer> {
  const gzip = createGzip();
  const kept = new KeptArchive();
  const done = (async () => {
    for await (const chunk of gzip) kept.add(chunk as Buffer); // no encoding is set
  })();
  done.catch(() => {});
  const write = async (bytes: Uint8Array) => {
    if (!gzip.write(bytes)) await Promise.race([new Promise<void>((resolve) => gzip.once("drain", resolve)), done]);
  };
  try {
    for await (const entry of entries) {
      await write(encodeTarEntry({ ...entry, sizeBytes: entry.bytes.length }));
      await write(entry.bytes);
      await write(new Uint8Array(padded(entry.bytes.length) - entry.bytes.length));
    }
    gzip.end(new Uint8Array(2 * TAR_BLOCK_BYTES));
    await done;
  } finally {
    gzip.destroy();
  }
  return kept.bytes;
}

async function packZip(entries: AsyncIterable<ArchiveEntry>): Promise<Buffer> {
  const kept = new KeptArchive();
  let failure: unknown;
  const zip = new Zip((error, chunk) => {
    if (error) failure = error;
    else kept.add(chunk);
  });
  for await (const { path, kind, mode, mtimeMs, linkPath, bytes } of entries) {
    const name = kind === "directory" ? `${path}/` : path;
    const file = kind === "file" ? new ZipDeflate(name, { level: 6 }) : new ZipPassThrough(name);
    Object.assign(file, {
      attrs: ((ZIP_TYPE_BITS[kind] | mode) << 16) >>> 0,
      os: ZIP_MADE_BY_UNIX,
      mtime: Math.max(mtimeMs, ZIP_FIRST_MS),
    });
    zip.add(file);
    file.push(kind === "symlink" ? Buffer.from(linkPath) : bytes, true);
    if (failure !== undefined) throw failure;
  }
  zip.end();
  if (failure !== undefined) throw failure;
  return kept.bytes;
}

class KeptArchive {
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  add(chunk: Uint8Array): void {
    this.#size += chunk.length;
    if (this.#size > MAX_ARCHIVE_BYTES) {
      throw new RouteFailure(413, "ValueError", `the archive is above ${MAX_ARCHIVE_BYTES} bytes`, "payload_too_large");
    }
    this.#chunks.push(chunk);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks, this.#size);
  }
}
