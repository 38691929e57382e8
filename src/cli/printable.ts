/** Characters that steer a terminal, or turn the direction of what stands beside them. */
const STEERING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** A text that comes from a sandbox, on one line and without what a terminal would obey. */
export function printable(text: string): string {
  return text.replace(STEERING, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
