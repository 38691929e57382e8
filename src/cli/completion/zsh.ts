import { type Candidate, type CommandNode, toSteps } from "./command-tree.js";

/** A completion script for zsh, for a file `_abx` in `fpath` or to be sourced. */
export function toZshScript(nodes: readonly CommandNode[]): string {
  const steps = toSteps(nodes).map(([step, path]) => `      "${step}") at="${path}" ;;`);
  const words = nodes.map(({ path, subcommands, options, choices }) => {
    const candidates = [...subcommands, ...choices.map((word) => ({ word, description: word })), ...options];
    return `    "${path}") candidates=(${candidates.map(toEntry).join(" ")}) ;;`;
  });
  return `#compdef abx
# zsh completion of abx
_abx() {
  local at=abx word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ $word == -- ]]; then _files; return; fi
    case "$at $word" in
${steps.join("\n")}
    esac
  done
  case "$at" in
${words.join("\n")}
  esac
  _describe -o abx candidates || _files
}
if [[ $funcstack[1] == _abx ]]; then _abx "$@"; else compdef _abx abx; fi
`;
}

/** `'word:description'`, where a colon of the word would end it. */
function toEntry({ word, description }: Candidate): string {
  return `'${`${word.replaceAll(":", "\\:")}:${description}`.replaceAll("'", "'\\''")}'`;
}
