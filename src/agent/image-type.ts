const SIGNATURES: readonly (readonly [type: string, offset: number, bytes: string])[] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF8"],
  ["image/webp", 8, "WEBP"],
];

/** The media type of an image that models can see; `undefined` for everything else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const found = SIGNATURES.find(([, offset, signature]) => [...signature].every((char, at) => bytes[offset + at] === char.charCodeAt(0)));
  return found?.[0];
}

/** In pieces, because a call takes a limited number of arguments. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(text);
}
