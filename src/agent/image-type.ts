/** How files begin; a dot stands for any byte. */
const SIGNATURES: readonly (readonly [type: string, bytes: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF87a"],
  ["image/gif", "GIF89a"],
  ["image/webp", "RIFF....WEBP"],
];

/** The media type of an image that models can see; `undefined` for everything else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const found = SIGNATURES.find(([, signature]) =>
    [...signature].every((char, at) => at < bytes.length && (char === "." || bytes[at] === char.charCodeAt(0))),
  );
  return found?.[0];
}

/** In pieces, because a call takes a limited number of arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}
