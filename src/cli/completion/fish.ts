import { type CommandNode, toSteps } from "./command-tree.js";

/** A completion script for fish. */
export function toFishScript(nodes: readonly CommandNode[]): string {
  const steps = toSteps(nodes).map(([step, path]) => `      case '${step}'\n        set at '${path}'`);
  const lines = nodes.flatMap(({ path, subcommands, options, choices }) => {
    const here = `complete -c abx -n "test (__abx_at) = '${path}'"`;
    return [
      ...subcommands.map(({ word, description }) => `${here} -f -a ${word} -d ${quote(description)}`),
      ...choices.map((word) => `${here} -f -a ${word}`),
      ...options.map(({ word, description }) => `${here} -l ${word.slice(2)} -d ${quote(description)}`),
    ];
  });
  return `# fish completion of abx
function __abx_at
  set -l at abx
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
${steps.join("\n")}
    end
  end
  echo $at
end
${lines.join("\n")}
`;
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
