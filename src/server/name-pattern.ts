/**
 * Whether a name matches a pattern of `*`, `?` and `[...]` (`[!...]` for none of them), the whole of it and case for case.
 *
 * The time is bounded by the product of both lengths, whatever the pattern is.
 */
export function matchesName(name: string, pattern: string): boolean {
  const characters = [...name];
  const parts = parsePattern(pattern);
  let at = 0;
  let part = 0;
  let starPart = -1;
  let starAt = 0;
  while (at < characters.length) {
    const current = parts[part];
    if (current === "*") {
      starPart = part;
      starAt = at;
      part += 1;
    } else if (current?.(characters[at] ?? "")) {
      at += 1;
      part += 1;
    } else if (starPart >= 0) {
      part = starPart + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((rest) => rest === "*");
}

type Part = "*" | ((character: string) => boolean);

function parsePattern(pattern: string): Part[] {
  const characters = [...pattern];
  const parts: Part[] = [];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? "";
    const end = character === "[" ? characters.indexOf("]", index + (characters[index + 1] === "!" ? 3 : 2)) : -1;
    if (character === "*") {
      if (parts.at(-1) !== "*") parts.push("*");
    } else if (character === "?") {
      parts.push(() => true);
    } else if (end > 0) {
      parts.push(toSet(characters.slice(index + 1, end)));
      index = end;
    } else {
      parts.push((other) => other === character);
    }
  }
  return parts;
}

function toSet(members: readonly string[]): (character: string) => boolean {
  const isNegated = members[0] === "!";
  const rest = isNegated ? members.slice(1) : members;
  const ranges: [string, string][] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const from = rest[index] ?? "";
    const to = rest[index + 1] === "-" ? rest[index + 2] : undefined;
    ranges.push([from, to ?? from]);
    if (to !== undefined) index += 2;
  }
  return (character) => ranges.some(([from, to]) => from <= character && character <= to) !== isNegated;
}
