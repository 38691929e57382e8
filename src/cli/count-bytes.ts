/** Pass chunks on and tell how many bytes went by. */
export async function* countBytes(
  chunks: AsyncIterable<Uint8Array>,
  onCount: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of chunks) {
    yield chunk;
    bytes += chunk.length;
    onCount(bytes);
  }
}
