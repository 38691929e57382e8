import { InvalidArgumentError } from "../errors/error-classes.js";

/** Bytes of a block; headers are one block and bodies fill whole ones (POSIX.1-2024, pax, "ustar Interchange Format"). */
export const TAR_BLOCK_BYTES = 512;

/** `other` are devices, pipes and kinds of newer archives: they have no place in a sandbox's directory. */
export type TarEntryKind = "file" | "directory" | "symlink" | "hardlink" | "other";

/** What an archive says about one file, directory or link. */
export interface TarEntry {
  readonly kind: TarEntryKind;
  /** As it stands in the archive, without a final slash; not checked. */
  readonly path: string;
  /** Permission bits with setuid, setgid and sticky bits. */
  readonly mode: number;
  /** Bytes of content that follow; 0 for all but files. */
  readonly sizeBytes: number;
  /** Time of the last change, milliseconds since 1970. */
  readonly mtimeMs: number;
  /** Target of a link: for a symbolic one as it reads, for a hard one the path of an earlier entry. Empty for others. */
  readonly linkPath: string;
}

const KIND_OF_FLAG: Readonly<Record<string, TarEntryKind>> = {
  "\0": "file",
  "0": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
  "7": "file",
};
const FLAG_OF_KIND = { file: "0", hardlink: "1", symlink: "2", directory: "5" } as const;

/** Largest number in eleven octal digits. */
const MAX_OCTAL_SIZE = 8 ** 11 - 1;
const MAX_NAME_BYTES = 100;

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

/**
 * The blocks before the body of an entry: its header, and before it an extended header (pax) for what has no room there, which are long
 * names, large sizes and fractions of seconds.
 */
export function encodeTarEntry(entry: TarEntry & { readonly kind: keyof typeof FLAG_OF_KIND }): Uint8Array {
  const path = entry.kind === "directory" ? `${entry.path}/` : entry.path;
  const seconds = Math.floor(entry.mtimeMs / 1000);
  const records = [
    ...(fits(path) ? [] : [paxRecord("path", path)]),
    ...(fits(entry.linkPath) ? [] : [paxRecord("linkpath", entry.linkPath)]),
    ...(entry.sizeBytes > MAX_OCTAL_SIZE ? [paxRecord("size", String(entry.sizeBytes))] : []),
    ...(seconds * 1000 === entry.mtimeMs && seconds >= 0 && seconds <= MAX_OCTAL_SIZE
      ? []
      : [paxRecord("mtime", (entry.mtimeMs / 1000).toFixed(6))]),
  ];
  const header = encodeHeader({ ...entry, path }, FLAG_OF_KIND[entry.kind], Math.max(0, seconds));
  if (records.length === 0) return header;
  const extension = encoder.encode(records.join(""));
  const blocks = new Uint8Array(TAR_BLOCK_BYTES + padded(extension.length) + TAR_BLOCK_BYTES);
  const about = { mode: 0o644, sizeBytes: extension.length, linkPath: "" };
  blocks.set(encodeHeader({ ...about, path: "PaxHeader" }, "x", 0), 0);
  blocks.set(extension, TAR_BLOCK_BYTES);
  blocks.set(header, TAR_BLOCK_BYTES + padded(extension.length));
  return blocks;
}

/** `size` rounded up to whole blocks. */
export function padded(size: number): number {
  return Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
}

/** A header block, before extended headers change it. */
export interface TarHeader extends TarEntry {
  /** Type flag as it stands there. */
  readonly flag: string;
}

/**
 * Read a header block; `undefined` for a block of zeros, which begins the end of the archive.
 *
 * @throws {@link InvalidArgumentError} the checksum is wrong or a number is malformed: this is no tar archive.
 */
export function decodeHeader(block: Uint8Array): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (numberAt(block, 148, 8) !== checksum(block))
    throw new InvalidArgumentError("the data is not a tar archive: a header has a wrong checksum");
  const flag = String.fromCharCode(block[156] ?? 0);
  const prefix = textAt(block, 257, 6) === "ustar" && block[262] === 0 ? textAt(block, 345, 155) : "";
  const name = textAt(block, 0, MAX_NAME_BYTES);
  const path = prefix === "" ? name : `${prefix}/${name}`;
  const isOldDirectory = (flag === "\0" || flag === "0") && path.endsWith("/");
  const kind = isOldDirectory ? "directory" : (KIND_OF_FLAG[flag] ?? "other");
  return {
    flag,
    kind,
    path: withoutFinalSlash(path),
    mode: numberAt(block, 100, 8) & 0o7777,
    sizeBytes: numberAt(block, 124, 12),
    mtimeMs: numberAt(block, 136, 12) * 1000,
    linkPath: textAt(block, 157, MAX_NAME_BYTES),
  };
}

/**
 * Records of an extended header, by keyword.
 *
 * @throws {@link InvalidArgumentError} they are malformed.
 */
export function decodePaxRecords(body: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let offset = 0; offset < body.length; ) {
    const space = body.indexOf(0x20, offset);
    const length = Number(decoder.decode(body.subarray(offset, space)));
    const record = decoder.decode(body.subarray(space + 1, offset + length - 1));
    const equals = record.indexOf("=");
    const isWhole = space > offset && Number.isSafeInteger(length) && length > 0 && body[offset + length - 1] === 0x0a;
    if (!isWhole || equals < 1) throw new InvalidArgumentError("the tar archive has a malformed extended header");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    offset += length;
  }
  return records;
}

/** Text up to the first NUL. */
export function textUntilNul(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return decoder.decode(end < 0 ? bytes : bytes.subarray(0, end));
}

export function withoutFinalSlash(path: string): string {
  return path.replace(/(?<!^)\/+$/, "");
}

/** Only ASCII is the same in the plain header of every implementation. */
function fits(text: string): boolean {
  return text.length <= MAX_NAME_BYTES && /^[\x20-\x7e]*$/.test(text);
}

function paxRecord(keyword: string, value: string): string {
  const rest = encoder.encode(` ${keyword}=${value}\n`).length;
  let length = rest + String(rest).length;
  // The length counts its own digits.
  length = rest + String(length).length;
  return `${length} ${keyword}=${value}\n`;
}

function encodeHeader(entry: Pick<TarEntry, "path" | "mode" | "sizeBytes" | "linkPath">, flag: string, seconds: number): Uint8Array {
  const block = new Uint8Array(TAR_BLOCK_BYTES);
  const put = (offset: number, text: string) => block.set(encoder.encode(text), offset);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  block.set(encoder.encode(entry.path).subarray(0, MAX_NAME_BYTES), 0);
  put(100, `${octal(entry.mode & 0o7777, 7)}\0`);
  put(108, `${octal(0, 7)}\0${octal(0, 7)}\0`);
  put(124, `${octal(entry.sizeBytes > MAX_OCTAL_SIZE ? 0 : entry.sizeBytes, 11)}\0`);
  put(136, `${octal(Math.min(seconds, MAX_OCTAL_SIZE), 11)}\0`);
  put(156, flag);
  block.set(encoder.encode(entry.linkPath).subarray(0, MAX_NAME_BYTES), 157);
  put(257, "ustar\x0000");
  put(148, `${octal(checksum(block), 6)}\0 `);
  return block;
}

/** Sum of the bytes, with spaces in the place of the checksum. */
function checksum(block: Uint8Array): number {
  let sum = 8 * 0x20;
  for (let index = 0; index < TAR_BLOCK_BYTES; index += 1) if (index < 148 || index >= 156) sum += block[index] ?? 0;
  return sum;
}

function textAt(block: Uint8Array, offset: number, length: number): string {
  return textUntilNul(block.subarray(offset, offset + length));
}

/** Octal digits, or the binary form of GNU tar for numbers that need more. */
function numberAt(block: Uint8Array, offset: number, length: number): number {
  const first = block[offset] ?? 0;
  if ((first & 0x80) !== 0) {
    let value = first === 0xff ? -1 : first & 0x7f;
    for (let index = 1; index < length; index += 1) value = value * 256 + (block[offset + index] ?? 0);
    if (Number.isSafeInteger(value)) return value;
  }
  const digits = textAt(block, offset, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw new InvalidArgumentError("the data is not a tar archive: a header has a malformed number");
  return digits === "" ? 0 : Number.parseInt(digits, 8);
}
