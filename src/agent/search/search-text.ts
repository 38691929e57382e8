import type { Sandbox } from "../../sandbox/sandbox.js";
import type { CommandEnd } from "../run-to-end.js";
import { isCutShort, type SearchCall, streamOutput } from "./stream-output.js";

/** A line that matches. */
export interface TextMatch {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** The line without its end, of a long one the beginning. */
  readonly text: string;
}

export interface TextQuery extends SearchCall {
  readonly pattern: string;
  /** The pattern is a text that must be found as it is, and no extended regular expression. */
  readonly isLiteral?: boolean | undefined;
  readonly ignoreCase?: boolean | undefined;
  /** Files and directories to search in. */
  readonly roots: readonly string[];
  /** Only files whose names match one of these patterns of fnmatch(3); all without one. */
  readonly includeNames?: readonly string[] | undefined;
  /** Directories whose names match are left out. */
  readonly excludeNames?: readonly string[] | undefined;
  /** Decides about each match. @defaultValue all are wanted */
  readonly isWanted?: ((match: TextMatch) => boolean) | undefined;
  readonly maxMatches: number;
}

export interface TextSearch {
  readonly matches: readonly TextMatch[];
  /** There are more, or the time was over. */
  readonly isTruncated: boolean;
  /** How grep ended; `undefined` when it was stopped because there were enough matches. */
  readonly end: CommandEnd | undefined;
}

const MAX_LINE_LENGTH = 2_000;

/** Find lines of text files, by grep inside the sandbox. What is kept here is bounded, whatever lies there. */
export async function searchText(sandbox: Sandbox, query: TextQuery): Promise<TextSearch> {
  const { pattern, roots, maxMatches, signal, timeoutMs, user, isWanted = () => true } = query;
  const words = ["grep", query.isLiteral ? "-rnIHZF" : "-rnIHZE", "--devices=skip"];
  if (query.ignoreCase) words.push("-i");
  for (const name of query.excludeNames ?? []) words.push(`--exclude-dir=${name}`);
  for (const name of query.includeNames ?? []) words.push(`--include=${name}`);
  // Each is a word of its own, so none can be taken for an option.
  words.push("-e", pattern, "--", ...roots);

  const matches: TextMatch[] = [];
  const reader = new MatchReader((match) => void (matches.length <= maxMatches && isWanted(match) && matches.push(match)));
  const take = (text: string) => {
    reader.add(text);
    return matches.length > maxMatches;
  };
  const end = await streamOutput(sandbox, words, { signal, timeoutMs, user, take });
  return { matches: matches.slice(0, maxMatches), isTruncated: matches.length > maxMatches || isCutShort(end), end };
}

/** Reads `path NUL line : text LF`, in pieces that are cut anywhere. */
class MatchReader {
  readonly #onMatch: (match: TextMatch) => void;
  readonly #fields = ["", "", ""];
  /** Of the field that is being read. */
  #index = 0;

  constructor(onMatch: (match: TextMatch) => void) {
    this.#onMatch = onMatch;
  }

  add(text: string): void {
    let at = 0;
    while (at < text.length) {
      const end = text.indexOf("\0:\n".charAt(this.#index), at);
      const piece = text.slice(at, end === -1 ? undefined : end);
      const field = this.#fields[this.#index] ?? "";
      this.#fields[this.#index] = field.length > MAX_LINE_LENGTH * 3 ? field : field + piece.slice(0, MAX_LINE_LENGTH * 3);
      if (end === -1) return;
      at = end + 1;
      this.#index += 1;
      if (this.#index === 3) this.#complete();
    }
  }

  #complete(): void {
    const [path = "", line = "", text = ""] = this.#fields;
    const shown = text.length > MAX_LINE_LENGTH ? `${text.slice(0, MAX_LINE_LENGTH).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
    this.#fields.fill("");
    this.#index = 0;
    // A program of the guest that is called grep may print anything.
    if (/^\d{1,15}$/.test(line)) this.#onMatch({ path, line: Number(line), text: shown });
  }
}
