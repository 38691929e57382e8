import { createInterface } from "node:readline/promises";

/** Where questions are asked; a terminal by default. */
export interface Asking {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Ask for leave; anything but `y` or `yes`, the end of the input too, is a no. An abort rejects with its reason. */
export async function askLeave(
  question: string,
  signal: AbortSignal,
  { input, output }: Asking = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `, { signal: AbortSignal.any([ended.signal, signal]) })).trim());
  } catch (error) {
    signal.throwIfAborted();
    if (ended.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
