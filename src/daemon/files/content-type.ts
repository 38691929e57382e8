import { mediaTypeOfName } from "../../shared/media-type.js";

const TEXT = "; charset=utf-8";

const SIGNATURES: readonly (readonly [bytes: string, type: string])[] = [
  ["\x89PNG\r\n\x1a\n", "image/png"],
  ["\xff\xd8\xff", "image/jpeg"],
  ["GIF8", "image/gif"],
  ["%PDF-", "application/pdf"],
  ["PK\x03\x04", "application/zip"],
  ["\x1f\x8b\x08", "application/gzip"],
  ["\x00asm", "application/wasm"],
];

/** Bytes of the beginning that {@link contentType} looks at. */
export const SNIFF_BYTES = 512;

/** Media type of a file by the extension of its name, else by how it begins: a known signature, UTF-8 text, or plain bytes. */
export function contentType(name: string, beginning: Uint8Array): string {
  const known = mediaTypeOfName(name);
  if (known !== undefined) return /^text\/|\/yaml$/.test(known) ? `${known}${TEXT}` : known;
  const head = beginning.subarray(0, SNIFF_BYTES);
  const latin1 = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("latin1");
  for (const [bytes, type] of SIGNATURES) if (latin1.startsWith(bytes)) return type;
  return isText(head) ? `text/plain${TEXT}` : "application/octet-stream";
}

function isText(head: Uint8Array): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary from text
  if (/[\x00-\x08\x0e-\x1a\x1c-\x1f]/.test(Buffer.from(head).toString("latin1"))) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: head.length === SNIFF_BYTES });
    return true;
  } catch {
    return false;
  }
}
