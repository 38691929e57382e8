/**
 * Value of `Content-Disposition` that shows `name` (RFC 6266): a token as it is, other ASCII quoted, anything else also in the extended
 * form of RFC 5987 with an ASCII stand-in before it.
 */
export function inlineDisposition(name: string): string {
  if (/^[A-Za-z0-9!#$&+.^_`|~-]+$/.test(name)) return `inline; filename=${name}`;
  const plain = name.replace(/[^\x20-\x7e]/gu, "_");
  const quoted = `inline; filename="${plain.replace(/["\\]/g, "\\$&")}"`;
  return plain === name && !name.includes("%") ? quoted : `${quoted}; filename*=UTF-8''${encodeExtended(name)}`;
}

/** `attr-char` of RFC 5987 stays, all other bytes of the UTF-8 form are percent-encoded. */
function encodeExtended(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
