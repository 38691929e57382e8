import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import { boundText } from "../bounded-text.js";

/** What a script found where it could not do its work: the names of errno(3). */
export type FileProblem = "ENOENT" | "EEXIST" | "EISDIR" | "ENOTDIR" | "ENOTEMPTY";

/** Exit codes of the scripts, the numbers of errno(3) on Linux. */
const PROBLEMS: ReadonlyMap<number, FileProblem> = new Map([
  [2, "ENOENT"],
  [17, "EEXIST"],
  [20, "ENOTDIR"],
  [21, "EISDIR"],
  [39, "ENOTEMPTY"],
]);

/** Characters of what a program printed that stand in an error. */
const MAX_MESSAGE_LENGTH = 1_000;
const SOURCE_EXISTS = `if ! [ -e "$1" ]; then exit 2; fi`;

/** What has no call of its own in the files of a sandbox. `$1` and `$2` are absolute paths. */
export const FILE_SCRIPTS = {
  /** Make an empty file where nothing is; nobody else makes it at the same time. */
  createNew: makeNew("$1"),
  /** Add the file $1 to the end of $2, and remove it. */
  append: `trap 'rm -f -- "$1"' EXIT
    if [ -d "$2" ]; then exit 21; fi
    mkdir -p -- "\${2%/*}/" && cat -- "$1" >>"$2"`,
  /** Copy a file over another one. */
  copyFile: `${SOURCE_EXISTS}
    if [ -d "$1" ] || [ -d "$2" ]; then exit 21; fi
    if [ "$1" -ef "$2" ]; then exit 0; fi
    mkdir -p -- "\${2%/*}/" && cp -- "$1" "$2"`,
  /** Copy a file to where nothing is. */
  copyFileToNew: `${SOURCE_EXISTS}
    if [ -d "$1" ]; then exit 21; fi
    mkdir -p -- "\${2%/*}/" || exit
    ${makeNew("$2")}
    cp -- "$1" "$2" && if [ -x "$1" ]; then chmod +x -- "$2"; fi`,
  /** Copy what is below a directory into another one, over what is there. */
  copyTree: `${SOURCE_EXISTS}
    if [ -e "$2" ] && ! [ -d "$2" ]; then exit 20; fi
    mkdir -p -- "$2" && cp -R -P -- "$1/." "$2/"`,
  /** Copy what is below a directory into another one, and leave what is there as it is. */
  copyTreeToNew: `${SOURCE_EXISTS}
    if [ -e "$2" ] && ! [ -d "$2" ]; then exit 20; fi
    mkdir -p -- "$2" && cd -- "$1" &&
      find . -type d -exec sh -c 'to=$1; shift; for at; do mkdir -p -- "$to/$at" || exit; done' _ "$2" {} + &&
      find . ! -type d -exec sh -c 'to=$1; shift; for at; do
        if ! [ -e "$to/$at" ] && ! [ -L "$to/$at" ]; then cp -P -- "$at" "$to/$at" || exit; fi
      done' _ "$2" {} +`,
  /** Move to where nothing is. */
  moveToNew: `if ! [ -e "$1" ] && ! [ -L "$1" ]; then exit 2; fi
    if [ -e "$2" ] || [ -L "$2" ]; then exit 17; fi
    mkdir -p -- "\${2%/*}/" || exit
    mv -nT -- "$1" "$2"; result=$?
    if [ -e "$1" ] || [ -L "$1" ]; then if [ -e "$2" ] || [ -L "$2" ]; then exit 17; fi; exit "$result"; fi`,
  /** Remove a directory that holds nothing. */
  removeEmpty: `if ! rmdir -- "$1"; then [ -n "$(ls -A -- "$1")" ] && exit 39; exit 1; fi`,
  /** Print the path without symbolic links, behind a NUL that ends what a profile of the template may print. */
  realPath: `${SOURCE_EXISTS}
    found="$(realpath -- "$1" && echo .)" && printf '\\0%s' "\${found%??}"`,
} as const;

/** How a script ended: what it printed, the problem that it found, or the words of the program that failed. */
export type ScriptEnd = { readonly stdout: string } | { readonly problem: FileProblem } | { readonly message: string };

/** Run one of {@link FILE_SCRIPTS} as the user of the sandbox. */
export async function runFileScript(sandbox: Sandbox, script: keyof typeof FILE_SCRIPTS, ...paths: readonly string[]): Promise<ScriptEnd> {
  // Words of programs in English, whatever the template says.
  const words = paths.map((path) => quoteShellWord(path.replace(/(?<=[^/])\/+$/, "")));
  const line = `export LC_ALL=C; set -- ${words.join(" ")}\n${FILE_SCRIPTS[script]}`;
  const { exitCode, stdout, stderr } = await sandbox.commands.run(line, { cwd: "/", timeoutMs: 0, reject: false });
  if (exitCode === 0) return { stdout };
  const problem = PROBLEMS.get(exitCode);
  return problem === undefined ? { message: boundText(stderr.trim(), MAX_MESSAGE_LENGTH) || `exit code ${exitCode}` } : { problem };
}

/** The shell makes the file only where nothing is; where it fails for another reason, the second attempt prints it. */
function makeNew(path: string): string {
  return `set -o noclobber
    if ! { : >"${path}"; } 2>/dev/null; then if [ -e "${path}" ] || [ -L "${path}" ]; then exit 17; fi; : >"${path}" || exit; fi`;
}
