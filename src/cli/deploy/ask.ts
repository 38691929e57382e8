import { createInterface } from "node:readline/promises";

/** Where questions are asked; a terminal by default. */
export interface Asking {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Ask for leave; anything but `y` or `yes`, the end of the input too, is a no. */
export async function askLeave(
  question: string,
  { input, output }: Asking = { input: process.stdin, output: process.stderr },
): Promise<boolean> {
  const lines = createInterface({ input, output });
  const ended = new AbortController();
  lines.once("close", () => ended.abort());
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `, { signal: ended.signal })).trim());
  } catch (error) {
    if (ended.signal.aborted) return false;
    throw error;
  } finally {
    lines.close();
  }
}
