/** A web stream over an async iterable: it pulls, so the source waits for the reader. Cancelling ends the source. */
export function toReadableStream(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const result = await iterator.next();
        if (result.done) controller.close();
        // Readers want bytes over an ArrayBuffer; no source of ours uses shared memory.
        else controller.enqueue(result.value as Uint8Array<ArrayBuffer>);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

/** The chunks of a web stream. Leaving the loop early cancels the stream. */
export async function* fromReadableStream<T>(stream: ReadableStream<T>): AsyncGenerator<T, void, undefined> {
  const reader = stream.getReader();
  let isDone = false;
  try {
    for (;;) {
      const result = await reader.read();
      if (result.done) break;
      yield result.value;
    }
    isDone = true;
  } finally {
    if (!isDone) reader.cancel().catch(() => {});
    reader.releaseLock();
  }
}
