import { InvalidArgumentError, ProtocolError } from "../errors/error-classes.js";

/** Part of a file, as `slice` counts: from byte `start` to before byte `end`. */
export interface ByteRange {
  /** First byte, from 0. A start at or behind the end of the file gives nothing. */
  readonly start: number;
  /** The byte behind the last one; greater than `start`. @defaultValue the end of the file */
  readonly end?: number | undefined;
}

/** @throws {@link InvalidArgumentError} a bound is no whole number of at least 0, or `end` is not greater than `start`. */
export function checkByteRange(range: ByteRange | undefined): ByteRange | undefined {
  if (range === undefined) return undefined;
  const { start, end } = range;
  if (!Number.isSafeInteger(start) || start < 0) {
    throw new InvalidArgumentError(`range.start must be a whole number of at least 0, not ${String(start)}`);
  }
  if (end !== undefined && (!Number.isSafeInteger(end) || end <= start)) {
    throw new InvalidArgumentError(`range.end must be a whole number greater than range.start (${start}), not ${String(end)}`);
  }
  return range;
}

/** Value of the `Range` header (RFC 9110, section 14.2), where both bounds belong to the range. */
export function toRangeHeader({ start, end }: ByteRange): string {
  return `bytes=${start}-${end === undefined ? "" : end - 1}`;
}

/**
 * Check that a 206 answer holds the range that was asked for.
 *
 * @throws {@link ProtocolError} it begins elsewhere, or goes further.
 */
export function assertContentRange(header: string | undefined, { start, end }: ByteRange, operation: string): void {
  const match = /^bytes (\d+)-(\d+)\/(?:\d+|\*)$/i.exec(header ?? "");
  if (match !== null && Number(match[1]) === start && (end === undefined || Number(match[2]) < end)) return;
  throw new ProtocolError(`${operation}: the answer has the range '${header ?? ""}' instead of the one asked for`, { operation });
}

/** The part of a body that a server sent whole. */
export async function* sliceBody(body: AsyncIterable<Uint8Array>, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void, undefined> {
  let offset = 0;
  for await (const chunk of body) {
    const piece = chunk.subarray(Math.max(0, start - offset), end === undefined ? undefined : Math.max(0, end - offset));
    offset += chunk.length;
    if (piece.length > 0) yield piece;
    if (end !== undefined && offset >= end) return;
  }
}
