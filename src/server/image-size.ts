/** Width and height of a PNG (W3C, "IHDR") or JPEG (ITU T.81, B.2.2) in pixels; zeros for what is neither. */
export function imageSize(bytes: Buffer): { readonly width: number; readonly height: number } {
  if (bytes.length > 24 && bytes.toString("latin1", 1, 4) === "PNG")
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  for (let at = 2; at + 9 < bytes.length; ) {
    const marker = bytes[at + 1] ?? 0;
    // Start of frame, of any coding; three numbers of the range mean something else.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return { width: 0, height: 0 };
}
