/** Join chunks into one array. */
export function concatBytes(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}
