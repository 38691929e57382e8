/** Characters of text that a result holds, of each stream of output. */
export const DEFAULT_MAX_TEXT_LENGTH = 16_000;

/** The text where it is short, else its beginning and its end with a line in between that says what is left out. */
export function boundText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = Math.floor(maxLength / 2);
  const head = withoutHalfPair(text.slice(0, half), "end");
  const tail = withoutHalfPair(text.slice(text.length - half), "start");
  return `${head}\n[… ${text.length - head.length - tail.length} of ${text.length} characters left out …]\n${tail}`;
}

/** The first `maxLines` lines, and how many more there are. */
export function boundLines(lines: readonly string[], maxLines: number, what: string): string {
  const rest = lines.length - maxLines;
  return rest <= 0 ? lines.join("\n") : `${lines.slice(0, maxLines).join("\n")}\n[… ${rest} more ${what} left out …]`;
}

/** A cut must not leave half of a character, which is no text. */
export function withoutHalfPair(text: string, side: "start" | "end"): string {
  return side === "end" ? text.replace(/[\uD800-\uDBFF]$/, "") : text.replace(/^[\uDC00-\uDFFF]/, "");
}
