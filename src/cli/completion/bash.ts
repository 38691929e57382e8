import { type CommandNode, toSteps } from "./command-tree.js";

/** A completion script for bash. */
export function toBashScript(nodes: readonly CommandNode[]): string {
  const steps = toSteps(nodes).map(([step, path]) => `      "${step}") at="${path}" ;;`);
  const words = nodes.map(
    ({ path, subcommands, options, choices }) =>
      `    "${path}") words="${[...subcommands.map(({ word }) => word), ...choices, ...options.map(({ word }) => word)].join(" ")}" ;;`,
  );
  return `# bash completion of abx
_abx() {
  local at=abx word words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    [ "$word" = -- ] && return
    case "$at $word" in
${steps.join("\n")}
    esac
  done
  case "$at" in
${words.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _abx abx
`;
}
