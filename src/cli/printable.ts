/**
 * A text whose control characters are written as escapes: names, command lines and messages come from sandboxes, and a terminal obeys what is in
 * them. Marks that turn the direction of writing count too, since they make a text look like another one.
 */
export function toPrintable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, toEscape);
}

/** Like {@link toPrintable}, for a message of several lines. */
export function toPrintableLines(text: string): string {
  return text.split("\n").map(toPrintable).join("\n");
}

/** As JSON and most languages write it. */
function toEscape(character: string): string {
  const short = JSON.stringify(character).slice(1, -1);
  return short === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}` : short;
}
