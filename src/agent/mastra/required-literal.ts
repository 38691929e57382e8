/** Escapes that stand for one of several characters, or for a place between two. */
const CLASS_ESCAPE = /^[dDwWsSbBtnrfv]$/;
const PRINTABLE = /^[ -~]$/;

/**
 * The longest text of ASCII characters that is in every match of a JavaScript regular expression; `undefined` where the expression has none,
 * or has parts that this does not look into.
 */
export function requiredLiteral(source: string): string | undefined {
  const runs: string[] = [""];
  const breakRun = () => void runs.push("");
  const dropLast = () => void runs.push((runs.pop() ?? "").slice(0, -1));
  let wasLiteral = false;
  for (let at = 0; at < source.length; ) {
    const char = source[at] ?? "";
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(at))?.[0];
    if (quantifier !== undefined) {
      if (wasLiteral && /^(?:[*?]|\{0+[,}])/.test(quantifier)) dropLast();
      breakRun();
      wasLiteral = false;
      at += quantifier.length;
    } else if (char === "|") {
      return undefined;
    } else if (char === "(" || char === "[") {
      const end = char === "(" ? endOfGroup(source, at) : endOfClass(source, at);
      if (end === undefined) return undefined;
      breakRun();
      wasLiteral = false;
      at = end;
    } else if (char === "\\") {
      const escaped = source[at + 1] ?? "";
      if (!CLASS_ESCAPE.test(escaped) && /[A-Za-z0-9]/.test(escaped)) return undefined;
      wasLiteral = !CLASS_ESCAPE.test(escaped) && PRINTABLE.test(escaped);
      if (wasLiteral) runs.push((runs.pop() ?? "") + escaped);
      else breakRun();
      at += 2;
    } else {
      wasLiteral = PRINTABLE.test(char) && !/[.^$]/.test(char);
      if (wasLiteral) runs.push((runs.pop() ?? "") + char);
      else breakRun();
      at += 1;
    }
  }
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  return longest === "" ? undefined : longest;
}

/** Index behind the group that begins here. */
function endOfGroup(source: string, start: number): number | undefined {
  let depth = 0;
  for (let at = start; at < source.length; ) {
    const char = source[at];
    if (char === "\\") at += 2;
    else if (char === "[") {
      const end = endOfClass(source, at);
      if (end === undefined) return undefined;
      at = end;
    } else {
      if (char === "(") depth++;
      if (char === ")") depth--;
      at += 1;
      if (depth === 0) return at;
    }
  }
  return undefined;
}

/** Index behind the character class that begins here. */
function endOfClass(source: string, start: number): number | undefined {
  for (let at = start + 1; at < source.length; at += source[at] === "\\" ? 2 : 1) if (source[at] === "]") return at + 1;
  return undefined;
}
