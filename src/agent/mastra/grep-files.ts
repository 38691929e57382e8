import {
  type FilesystemGrepMatch,
  type FilesystemGrepOptions,
  type FilesystemGrepResult,
  UnsupportedGrepPatternError,
} from "@mastra/core/workspace";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellCommand, quoteShellWord } from "../../shared/shell-quote.js";
import { requiredLiteral } from "./required-literal.js";

/** Files that are read at a time, and what of each is searched: a sandbox must not fill the memory of this program. */
const CONCURRENCY = 4;
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Matches that are given where the caller sets no limit. */
const MAX_MATCHES = 10_000;
/** Milliseconds that the search inside the sandbox may take. */
const SEARCH_TIMEOUT_MS = 120_000;
/** Names of files that are taken from one search. */
const MAX_NAMES_BYTES = 8 * 1024 * 1024;

/**
 * Search text files below a directory. A fixed text that every match must hold is looked for inside the sandbox, and the expression is applied
 * to the first 16 MiB of the files that have it, so that it means what it means in JavaScript.
 *
 * @throws `UnsupportedGrepPatternError` no fixed text is in every match, or the sandbox cannot search.
 */
export async function grepFiles(
  sandbox: Sandbox,
  options: FilesystemGrepOptions,
  isTextFile: (name: string) => boolean,
): Promise<FilesystemGrepResult[]> {
  const { pattern, path, caseSensitive, maxTotalMatches = MAX_MATCHES } = options;
  const literal = requiredLiteral(pattern);
  if (literal === undefined) throw new UnsupportedGrepPatternError(pattern, "no fixed text is in every match");
  const candidates = (await findCandidates(sandbox, literal, options)).filter((name) => isTextFile(name));
  const expression = new RegExp(pattern, caseSensitive ? "" : "i");
  const results: FilesystemGrepResult[] = [];
  let total = 0;
  for (let at = 0; at < candidates.length && total < maxTotalMatches; at += CONCURRENCY) {
    const names = candidates.slice(at, at + CONCURRENCY);
    // What cannot be read, or is gone again, has no matches.
    const read = (name: string) => sandbox.files.read(`${path.replace(/\/$/, "")}/${name}`, { range: { start: 0, end: MAX_FILE_BYTES } });
    const texts = await Promise.all(names.map((name) => read(name).catch(() => "")));
    for (const [index, name] of names.entries()) {
      const limit = Math.min(options.maxCountPerFile ?? Number.POSITIVE_INFINITY, maxTotalMatches - total);
      const matches = findMatches(texts[index] ?? "", expression, limit, options.contextLines ?? 0);
      if (matches.length > 0) results.push({ path: name, matches });
      total += matches.length;
    }
  }
  return results;
}

/** Files with the text, relative to the directory and in order. */
async function findCandidates(
  sandbox: Sandbox,
  literal: string,
  { pattern, path, caseSensitive, includeHidden }: FilesystemGrepOptions,
): Promise<string[]> {
  const words = ["grep", "-rlFZ", ...(caseSensitive ? [] : ["-i"]), ...(includeHidden ? [] : ["--exclude-dir=.?*", "--exclude=.*"])];
  // From inside the directory, whose own name may begin with a dot.
  const line = `cd -- ${quoteShellWord(path)} || exit 3; printf '\\0'; LC_ALL=C exec ${quoteShellCommand([...words, "-e", literal, "."])} 2>/dev/null`;
  const { exitCode, stdout, truncatedBytes } = await sandbox.commands.run(line, {
    ...{ cwd: "/", timeoutMs: SEARCH_TIMEOUT_MS, reject: false, maxOutputBytes: MAX_NAMES_BYTES },
  });
  // 2 is what it says where it could not read some of the files.
  if (exitCode < 0 || exitCode > 2 || truncatedBytes !== undefined)
    throw new UnsupportedGrepPatternError(pattern, "the sandbox cannot search");
  // Before the first NUL is what a profile of the template may print.
  const names = stdout.split("\0").slice(1, -1);
  return names.map((name) => name.replace(/^\.\//, "")).sort();
}

function findMatches(text: string, expression: RegExp, limit: number, contextLines: number): FilesystemGrepMatch[] {
  const lines = text.split("\n");
  const matches: FilesystemGrepMatch[] = [];
  for (let at = 0; at < lines.length && matches.length < limit; at++) {
    const line = lines[at] ?? "";
    const found = expression.exec(line);
    if (found === null) continue;
    matches.push({
      line: at + 1,
      column: found.index,
      text: line,
      ...(contextLines > 0 && {
        before: lines.slice(Math.max(0, at - contextLines), at),
        after: lines.slice(at + 1, at + 1 + contextLines),
      }),
    });
  }
  return matches;
}
