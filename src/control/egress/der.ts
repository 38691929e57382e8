/** Distinguished Encoding Rules (ITU-T X.690), as far as certificates need them. */

/** A value with its tag and length. */
export function der(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), toLength(content.length), content]);
}

export const sequence = (...items: readonly Buffer[]): Buffer => der(0x30, ...items);
export const set = (...items: readonly Buffer[]): Buffer => der(0x31, ...items);
export const octetString = (content: Buffer): Buffer => der(0x04, content);
export const bitString = (content: Buffer, unusedBits = 0): Buffer => der(0x03, Buffer.from([unusedBits]), content);
export const utf8String = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const trueValue = (): Buffer => der(0x01, Buffer.from([0xff]));

/** `[number]` around a value. */
export function explicit(number: number, content: Buffer): Buffer {
  return der(0xa0 | number, content);
}

/** `[number]` in place of the tag of a primitive value. */
export function implicit(number: number, content: Buffer): Buffer {
  return der(0x80 | number, content);
}

/** A positive integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const trimmed = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  const isNegativeLooking = ((trimmed[0] ?? 0) & 0x80) !== 0;
  return der(0x02, ...(isNegativeLooking ? [Buffer.from([0])] : []), trimmed);
}

export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(toBase128)]));
}

/** A time as X.509 wants it: two-digit years before 2050, four digits from then on (RFC 5280, section 4.1.2.5). */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, "");
  return date.getUTCFullYear() < 2050 ? der(0x17, Buffer.from(digits.slice(2))) : der(0x18, Buffer.from(digits));
}

function toBase128(value: number): number[] {
  const groups = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) groups.unshift((rest & 0x7f) | 0x80);
  return groups;
}

function toLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}
