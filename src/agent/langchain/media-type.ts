import { imageTypeOf } from "../image-type.js";

/** What frameworks pass on to models as it is, by the ending of the name. */
const BINARY_TYPES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  heic: "image/heic",
  heif: "image/heif",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  aiff: "audio/aiff",
  aac: "audio/aac",
  ogg: "audio/ogg",
  flac: "audio/flac",
  mp4: "video/mp4",
  webm: "video/webm",
  mpeg: "video/mpeg",
  mpg: "video/mpeg",
  mov: "video/quicktime",
  avi: "video/x-msvideo",
  flv: "video/x-flv",
  wmv: "video/x-ms-wmv",
  "3gpp": "video/3gpp",
  pdf: "application/pdf",
  ppt: "application/vnd.ms-powerpoint",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

export const TEXT_TYPE = "text/plain";

/** The media type that the ending of a name promises, where it is no text. */
export function binaryTypeOfName(path: string): string | undefined {
  const ending = /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(BINARY_TYPES, ending) ? BINARY_TYPES[ending] : undefined;
}

/**
 * The media type of a file, by its first bytes and, where these leave it open, its name; `undefined` for bytes of an unknown kind.
 *
 * A name alone decides nothing: what looks like text is text, whatever it is called.
 */
export function mediaTypeOf(path: string, head: Uint8Array): string | undefined {
  const image = imageTypeOf(head);
  if (image !== undefined) return image;
  if (new TextDecoder("latin1").decode(head.subarray(0, 5)) === "%PDF-") return "application/pdf";
  const named = binaryTypeOfName(path);
  if (!head.includes(0) && (named === undefined || isUtf8(head))) return TEXT_TYPE;
  return named;
}

/** A character that the end of the bytes cuts is none that is wrong. */
function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
