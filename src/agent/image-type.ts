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
