import { ProtocolError } from "../errors/error-classes.js";
import { concatBytes } from "../shared/concat-bytes.js";

const LINE_END = 0x0a;

/**
 * The JSON objects of a stream that has one on each line, wherever it is cut. Each byte is looked at once; blank lines are passed over, and
 * the last line may lack its end.
 *
 * @throws {@link ProtocolError} a line is no JSON object.
 */
export async function* readJsonLines(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      const last = chunk.subarray(start, end);
      const line = partBytes === 0 ? last : concatBytes([...parts, last], partBytes + last.length);
      start = end + 1;
      parts = [];
      partBytes = 0;
      const value = parseLine(line);
      if (value !== undefined) yield value;
    }
    if (start < chunk.length) {
      // Copied, because the memory of a chunk may be used again for the next one.
      parts.push(chunk.slice(start));
      partBytes += chunk.length - start;
    }
  }
  const value = parseLine(concatBytes(parts, partBytes));
  if (value !== undefined) yield value;
}

function parseLine(line: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const text = new TextDecoder().decode(line).trim();
  if (text === "") return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ProtocolError(`a line of the stream is no JSON: ${text.slice(0, 100)}`, { cause });
  }
  if (typeof value !== "object" || value === null) throw new ProtocolError(`a line of the stream is no JSON object: ${text.slice(0, 100)}`);
  return value as Readonly<Record<string, unknown>>; // any object is such a record
}
