import type { Writable } from "node:stream";

/** Resolves when a stream takes more, or is closed. It leaves no listener behind, however often a slow reader is waited for. */
export function drained(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      stream.off("drain", finish);
      stream.off("close", finish);
      resolve();
    };
    stream.on("drain", finish);
    stream.on("close", finish);
    if (stream.destroyed) finish();
  });
}
