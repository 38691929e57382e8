import { extname } from "node:path";

const TEXT = "; charset=utf-8";

const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  [".css", `text/css${TEXT}`],
  [".csv", `text/csv${TEXT}`],
  [".htm", `text/html${TEXT}`],
  [".html", `text/html${TEXT}`],
  [".js", `text/javascript${TEXT}`],
  [".mjs", `text/javascript${TEXT}`],
  [".md", `text/markdown${TEXT}`],
  [".txt", `text/plain${TEXT}`],
  [".log", `text/plain${TEXT}`],
  [".xml", `text/xml${TEXT}`],
  [".yaml", `application/yaml${TEXT}`],
  [".yml", `application/yaml${TEXT}`],
  [".json", "application/json"],
  [".ipynb", "application/x-ipynb+json"],
  [".pdf", "application/pdf"],
  [".wasm", "application/wasm"],
  [".zip", "application/zip"],
  [".gz", "application/gzip"],
  [".tgz", "application/gzip"],
  [".tar", "application/x-tar"],
  [".parquet", "application/vnd.apache.parquet"],
  [".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  [".pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  [".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  [".avif", "image/avif"],
  [".bmp", "image/bmp"],
  [".gif", "image/gif"],
  [".ico", "image/x-icon"],
  [".jpeg", "image/jpeg"],
  [".jpg", "image/jpeg"],
  [".png", "image/png"],
  [".svg", "image/svg+xml"],
  [".webp", "image/webp"],
  [".mp3", "audio/mpeg"],
  [".ogg", "audio/ogg"],
  [".wav", "audio/wav"],
  [".mp4", "video/mp4"],
  [".webm", "video/webm"],
  [".ttf", "font/ttf"],
  [".woff", "font/woff"],
  [".woff2", "font/woff2"],
]);

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
  const known = BY_EXTENSION.get(extname(name).toLowerCase());
  if (known !== undefined) return known;
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
