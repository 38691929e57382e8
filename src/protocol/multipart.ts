import { isBytes } from "../shared/is-bytes.js";
import type { FileBody } from "./file-data.js";

/** A multipart/form-data body. */
export interface Multipart {
  readonly contentType: string;
  /** Bytes when every part is, so that the request has a length; else a stream. */
  readonly body: FileBody;
}

/** The path can stand in a quoted file name as it is; others would arrive changed. */
export function isSafeFileName(path: string): boolean {
  return !/["\\%\r\n]/.test(path);
}

/** Encode files as parts named `file` whose file names are their whole paths (RFC 7578). */
export function encodeMultipart(files: readonly { readonly path: string; readonly body: FileBody }[]): Multipart {
  const boundary = `agent-sandbox-${crypto.randomUUID()}`;
  const encoder = new TextEncoder();
  const pieces: FileBody[] = [];
  for (const { path, body } of files) {
    const name = path.replace(/["\\]/g, "\\$&").replace(/\r/g, "%0D").replace(/\n/g, "%0A");
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: application/octet-stream\r\n\r\n`;
    pieces.push(encoder.encode(head), body, encoder.encode("\r\n"));
  }
  pieces.push(encoder.encode(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: join(pieces) };
}

function join(pieces: readonly FileBody[]): FileBody {
  const known = pieces.filter((piece) => isBytes(piece));
  if (known.length < pieces.length) return chain(pieces);
  const all = new Uint8Array(known.reduce((sum, piece) => sum + piece.length, 0));
  let offset = 0;
  for (const piece of known) {
    all.set(piece, offset);
    offset += piece.length;
  }
  return all;
}

async function* chain(pieces: readonly FileBody[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const piece of pieces) {
    if (isBytes(piece)) yield piece;
    else yield* piece;
  }
}
