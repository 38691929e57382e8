/** Exit codes of the scripts for what is no failure of a program. */
export const EXIT = { notFound: 44, wrongKind: 45, outside: 46, incomplete: 47 } as const;

/**
 * A function of `sh`: whether the first argument lies in one of the others once links are followed. Of a path that is not there its last directory counts that is:
 * behind it there are no links. `echo x` keeps line breaks at the end of names, which `$(…)` would cut.
 */
export const INSIDE = `inside() {
  at=$1
  shift
  while [ ! -e "$at" ] && [ ! -L "$at" ] && [ "$at" != / ]; do at=\${at%/*}; at=\${at:-/}; done
  at=$(readlink -f -- "$at" && echo x) || return 1
  at=\${at%?x}
  for root; do
    root=$(readlink -f -- "$root" && echo x) || continue
    root=\${root%?x}
    case $at in "$root" | "\${root%/}"/*) return 0 ;; esac
  done
  return 1
}
`;
/** Names for the arguments of a script. */
const ARGUMENTS = `path=$1
more=$2
shift 2
`;
const FIND = `[ -e "$path" ] || exit ${EXIT.notFound}`;
const NO_DIRECTORY = `[ -d "$path" ] && exit ${EXIT.wrongKind}`;
// biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
const PARENT = "${path%/*}/";
const MAKE_PARENT = `mkdir -p -- "${PARENT}" || exit 1`;
const check = (path: string) => `inside "${path}" "$@" || exit ${EXIT.outside}`;

/**
 * What is done with files, as scripts of `sh`. `$0` is a mark that goes to standard output before what counts, because a login shell may have
 * printed something; `$1` is the path, `$2` what else there is, and the rest are the directories in which it has to be.
 */
export const FILE_SCRIPTS = {
  /** `$2`: the most bytes, or nothing. */
  read: script(
    ...[check("$path"), FIND, NO_DIRECTORY, 'printf %s "$0"'],
    'if [ -n "$more" ]; then exec head -c "$more" -- "$path"; else exec cat -- "$path"; fi',
  ),
  /** `$2`: the number of bytes, which come through standard input. They are gathered first, so that a broken connection leaves the file alone. */
  write: script(
    ...[check("$path"), NO_DIRECTORY, MAKE_PARENT, "new=$(mktemp) || exit 1", "trap 'rm -f -- \"$new\"' EXIT"],
    'head -c "$more" > "$new"',
    `[ "$(wc -c < "$new")" -eq "$more" ] || exit ${EXIT.incomplete}`,
    'cat -- "$new" > "$path"',
  ),
  /** `$2`: where it comes from. */
  move: script(
    ...[check("$more"), check("$path"), `[ -e "$more" ] || exit ${EXIT.notFound}`, NO_DIRECTORY, MAKE_PARENT],
    'exec mv -f -- "$more" "$path"',
  ),
  /** A link is removed itself, so only its directory has to be inside. */
  remove: script(check(PARENT), `[ -L "$path" ] || { ${FIND}; ${NO_DIRECTORY}; }`, 'exec rm -- "$path"'),
  /** Prints a letter of the kind and the name, each with NUL behind it. */
  list: script(
    ...[check("$path"), FIND, `[ -d "$path" ] || exit ${EXIT.wrongKind}`, 'printf %s "$0"'],
    `exec find -H "$path" -mindepth 1 -maxdepth 1 -printf '%Y\\0%f\\0'`,
  ),
  /** Prints the kind. */
  kindOf: script(
    ...[check("$path"), FIND, 'printf %s "$0"'],
    'if [ -d "$path" ]; then printf dir; elif [ -f "$path" ]; then printf file; else printf other; fi',
  ),
  isDirectory: script(check("$path"), `[ -d "$path" ] && [ -x "$path" ] || exit ${EXIT.notFound}`),
} as const;

function script(...lines: readonly string[]): string {
  return `${INSIDE}${ARGUMENTS}${lines.join("\n")}\n`;
}
