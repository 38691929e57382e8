import type { GlobResult, GrepResult } from "deepagents";
import { InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { boundText } from "../bounded-text.js";
import type { CommandEnd } from "../run-to-end.js";
import { findFiles } from "../search/find-files.js";
import { type GlobPattern, parseGlob } from "../search/glob-pattern.js";
import { searchRoots } from "../search/search-roots.js";
import { searchText } from "../search/search-text.js";
import { QUICK_MS } from "../tool-context.js";
import type { BackendCall } from "./backend-call.js";

const MAX_FILES = 10_000;
const MAX_MATCHES = 10_000;

export interface GrepQuery {
  readonly pattern: string;
  readonly path: string;
  readonly glob: string | undefined;
  readonly maxCount: number | undefined;
}

/** Find a text in files. What was found counts also where not everything could be searched. */
export async function grepFiles(sandbox: Sandbox, query: GrepQuery, call: BackendCall): Promise<GrepResult> {
  const { pattern, glob, maxCount = MAX_MATCHES } = query;
  if (/[\r\n]/.test(pattern)) throw new InvalidArgumentError("the pattern holds a line break, and lines are searched one by one");
  const { path, type } = await sandbox.files.getInfo(query.path, call);
  // A pattern without a `/` is one of the name, wherever the file lies.
  const anywhere = glob === undefined || glob.includes("/") ? glob : `**/${glob}`;
  const wanted = anywhere === undefined ? undefined : toPathPattern(anywhere, type === "dir" ? path : parentOf(path));
  const { matches, isTruncated, end } = await searchText(sandbox, {
    ...call,
    pattern,
    isLiteral: true,
    roots: await searchRoots(sandbox, path, call),
    includeNames: wanted && toNameFilters(wanted.glob),
    isWanted: wanted && ((match) => wanted.matches(match.path)),
    maxMatches: Math.min(Math.max(0, Math.floor(maxCount)), MAX_MATCHES),
    timeoutMs: QUICK_MS,
  });
  assertRan("grep", end, matches.length);
  return { matches: [...matches], ...(isTruncated && { truncated: true }) };
}

/** Find files and directories by a pattern of their path below a directory. */
export async function globFiles(sandbox: Sandbox, pattern: string, base: string, call: BackendCall): Promise<GlobResult> {
  const { path } = await sandbox.files.getInfo(base, call);
  const { matches, glob } = toPathPattern(pattern, path);
  const roots = await searchRoots(sandbox, path, call);
  // Below the root directory each entry is a root of its own.
  const level = path === "/" ? 0 : 1;
  const { files, isTruncated, end } = await findFiles(sandbox, {
    ...call,
    roots,
    minDepth: level,
    maxDepth: glob.maxDepth === undefined ? undefined : glob.maxDepth - 1 + level,
    isWanted: matches,
    maxFiles: MAX_FILES,
    timeoutMs: QUICK_MS,
  });
  assertRan("find", end, files.length);
  const found = files.map((file) => ({
    path: file.path,
    is_dir: file.isDirectory,
    size: file.isDirectory ? 0 : file.sizeBytes,
    modified_at: file.modifiedAt.toISOString(),
  }));
  return { files: found, ...(isTruncated && { truncated: true }) };
}

interface PathPattern {
  /** Decides about an absolute path. */
  matches(path: string): boolean;
  readonly glob: GlobPattern;
}

/** A pattern that begins with `/` is meant from the root directory or, as models also write it, from the base. */
function toPathPattern(pattern: string, base: string): PathPattern {
  const glob = parseGlob(pattern.replace(/^\/+|\/+$/g, ""));
  const isAbsolute = pattern.startsWith("/") && base !== "/";
  const prefixLength = base === "/" ? 1 : base.length + 1;
  return { glob, matches: (path) => glob.matches(path.slice(prefixLength)) || (isAbsolute && glob.matches(path.slice(1))) };
}

/**
 * What grep itself can tell apart, so that it need not read other files. It may take `?` and classes for one byte, so of these patterns only
 * the end counts.
 */
function toNameFilters({ lastNames }: GlobPattern): readonly string[] {
  return lastNames.map((name) => (/[*?[\]\\]/.test(name) ? `*${/[^*?[\]\\]*$/.exec(name)?.[0] ?? ""}` : name));
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** Complaints about what could not be entered, or went away: they say nothing about the rest. */
const HARMLESS =
  /: (Permission denied|Operation not permitted|No such file or directory|Not a directory|Invalid argument|Input\/output error|Too many levels of symbolic links)$/;

/** What was found counts; where nothing was, a program that could not do its work must not look like one that found nothing. */
function assertRan(program: string, end: CommandEnd | undefined, foundCount: number): void {
  if (end === undefined || end.timedOutMs !== undefined || end.exitCode === 0 || foundCount > 0) return;
  const [complaint = ""] = end.stderr.trim().split("\n");
  if (end.signal === undefined && end.exitCode <= 2 && (complaint === "" || HARMLESS.test(complaint))) return;
  throw new InternalError(
    `${program} ended by ${end.signal ?? `exit code ${end.exitCode}`}: ${boundText(complaint, 1_000) || "it said nothing"}`,
  );
}
