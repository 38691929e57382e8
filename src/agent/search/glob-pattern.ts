import { InvalidArgumentError } from "../../errors/error-classes.js";

const MAX_ALTERNATIVES = 100;
/** No path of the kernel is longer. */
const MAX_PATTERN_LENGTH = 4_096;

/** A pattern of a path relative to the directory in which is searched. */
export interface GlobPattern {
  /** Names below the directory that a path can have at most; `undefined` without a limit. */
  readonly maxDepth: number | undefined;
  /** Patterns of the last name, one for each alternative. */
  readonly lastNames: readonly string[];
  matches(relativePath: string): boolean;
}

/**
 * Read a glob: `*` and `?` within a name, classes as `[a-z]` and `[!a-z]`, `{a,b}`, `\` before a character that means itself, and `**` for any
 * number of directories. Names that begin with a dot match like others.
 *
 * Matching takes time that grows with the product of both lengths at most, so neither a pattern nor a name can stop the program.
 *
 * @throws {@link InvalidArgumentError} it is too long, or its braces stand for too many patterns.
 */
export function parseGlob(pattern: string): GlobPattern {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new InvalidArgumentError(`the pattern has more than ${MAX_PATTERN_LENGTH} characters`);
  const alternatives = expandBraces(pattern).map(toSegments);
  const depths = alternatives.map((segments) => (segments.includes(ANY_DIRECTORIES) ? undefined : segments.length));
  return {
    maxDepth: depths.includes(undefined) ? undefined : Math.max(...(depths as number[])), // none is undefined
    lastNames: alternatives.map((segments) => segments.at(-1)?.source ?? ""),
    matches(relativePath) {
      const names = relativePath.split("/").map((name) => [...name]);
      return alternatives.some((segments) => matchesAll(segments, names, (segment) => segment === ANY_DIRECTORIES, matchesName));
    },
  };
}

type Token = { readonly type: "any" } | { readonly type: "star" } | { readonly type: "one"; matches(character: string): boolean };

interface Segment {
  readonly source: string;
  readonly tokens: readonly Token[];
}

const ANY_DIRECTORIES: Segment = { source: "**", tokens: [] };

/** The patterns for which one with braces stands. */
function expandBraces(pattern: string): string[] {
  const found = findBraces(pattern);
  if (found === undefined) return [pattern];
  const rest = expandBraces(found.after);
  const all = found.choices.flatMap(expandBraces).flatMap((choice) => rest.map((end) => found.before + choice + end));
  if (all.length > MAX_ALTERNATIVES)
    throw new InvalidArgumentError(`the braces of the pattern stand for more than ${MAX_ALTERNATIVES} patterns`);
  return all;
}

/** The first braces that are closed and hold a comma. */
function findBraces(pattern: string) {
  for (let start = 0; start < pattern.length; start += 1) {
    if (pattern[start] === "\\") start += 1;
    else if (pattern[start] === "{") {
      const choices = readChoices(pattern, start + 1);
      if (choices !== undefined && choices.texts.length > 1) {
        return { before: pattern.slice(0, start), choices: choices.texts, after: pattern.slice(choices.end + 1) };
      }
    }
  }
  return undefined;
}

function readChoices(pattern: string, start: number): { readonly texts: readonly string[]; readonly end: number } | undefined {
  const texts: string[] = [];
  let depth = 0;
  let from = start;
  for (let at = start; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === "\\") at += 1;
    else if (character === "{") depth += 1;
    else if (character === "}" && depth > 0) depth -= 1;
    else if (depth === 0 && (character === "," || character === "}")) {
      texts.push(pattern.slice(from, at));
      from = at + 1;
      if (character === "}") return { texts, end: at };
    }
  }
  return undefined;
}

function toSegments(pattern: string): readonly Segment[] {
  const segments = pattern.split("/").map((source) => (source === "**" ? ANY_DIRECTORIES : { source, tokens: toTokens(source) }));
  // What is below a directory does not include the directory itself.
  return segments.at(-1) === ANY_DIRECTORIES ? [...segments, { source: "*", tokens: toTokens("*") }] : segments;
}

function toTokens(source: string): Token[] {
  const characters = [...source];
  const tokens: Token[] = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] ?? "";
    const end = character === "[" ? characters.indexOf("]", at + (isNegation(characters[at + 1]) ? 3 : 2)) : -1;
    if (character === "*") tokens.push({ type: "star" });
    else if (character === "?") tokens.push({ type: "any" });
    else if (end !== -1) {
      tokens.push(toClass(characters.slice(at + 1, end)));
      at = end;
    } else {
      const literal = character === "\\" ? (characters[++at] ?? "\\") : character;
      tokens.push({ type: "one", matches: (other) => other === literal });
    }
  }
  return tokens;
}

function toClass(members: readonly string[]): Token {
  const isNegated = isNegation(members[0]);
  const ranges: (readonly [first: string, last: string])[] = [];
  for (let at = isNegated ? 1 : 0; at < members.length; at += 1) {
    const first = members[at] ?? "";
    const isRange = members[at + 1] === "-" && at + 2 < members.length;
    ranges.push([first, isRange ? (members[at + 2] ?? "") : first]);
    if (isRange) at += 2;
  }
  const order = (character: string) => character.codePointAt(0) ?? 0;
  const isIn = (character: string) => ranges.some(([first, last]) => order(first) <= order(character) && order(character) <= order(last));
  return { type: "one", matches: (character) => isIn(character) !== isNegated };
}

function isNegation(character: string | undefined): boolean {
  return character === "!" || character === "^";
}

function matchesName(segment: Segment, name: readonly string[]): boolean {
  return matchesAll(
    segment.tokens,
    name,
    ({ type }) => type === "star",
    (token, character) => token.type === "any" || (token.type === "one" && token.matches(character)),
  );
}

/** Compare a sequence with a pattern in which a star stands for any number of items: only the last star is ever tried again. */
function matchesAll<P, T>(
  pattern: readonly P[],
  items: readonly T[],
  isStar: (part: P) => boolean,
  isOne: (part: P, item: T) => boolean,
): boolean {
  let [part, item, afterStar, resumeAt] = [0, 0, -1, 0];
  while (item < items.length) {
    // Both indexes are in range.
    const current = pattern[part] as P;
    if (part < pattern.length && isStar(current)) {
      part += 1;
      afterStar = part;
      resumeAt = item;
    } else if (part < pattern.length && isOne(current, items[item] as T)) {
      part += 1;
      item += 1;
    } else if (afterStar !== -1) {
      resumeAt += 1;
      item = resumeAt;
      part = afterStar;
    } else return false;
  }
  return pattern.slice(part).every(isStar);
}
