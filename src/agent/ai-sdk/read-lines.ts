import { InvalidArgumentError } from "../../errors/error-classes.js";
import { fromReadableStream } from "../../shared/byte-stream.js";

/** Lines counted from 1, both included. */
export interface LineRange {
  /** @defaultValue 1 */
  readonly startLine?: number | undefined;
  /** @defaultValue the last */
  readonly endLine?: number | undefined;
}

/** @throws {@link InvalidArgumentError} a bound that is no whole number. */
export function checkLineRange({ startLine, endLine }: LineRange): void {
  for (const [name, value] of Object.entries({ startLine, endLine })) {
    if (value !== undefined && !Number.isInteger(value))
      throw new InvalidArgumentError(`${name} must be a whole number, not ${String(value)}`);
  }
}

/**
 * The text of some lines, without what ends the last of them (`\n` or `\r\n`). Nothing behind them is read, and nothing else is kept.
 */
export async function readLines(
  stream: ReadableStream<Uint8Array>,
  decoder: TextDecoder,
  { startLine = 1, endLine = Number.POSITIVE_INFINITY }: LineRange,
): Promise<string> {
  if (endLine < Math.max(1, startLine)) {
    await stream.cancel();
    return "";
  }
  const parts: string[] = [];
  let line = 1;
  for await (const chunk of fromReadableStream(stream)) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1 && line <= endLine; at = text.indexOf("\n", at + 1)) {
      if (line === endLine) {
        parts.push(text.slice(from, at));
        return parts.join("").replace(/\r$/, "");
      }
      line += 1;
      if (line <= startLine) from = at + 1;
    }
    if (line >= startLine) parts.push(text.slice(from));
  }
  const rest = decoder.decode();
  if (line >= startLine) parts.push(rest);
  return parts.join("");
}
