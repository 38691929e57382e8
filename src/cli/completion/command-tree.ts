import type { Command } from "commander";

/** Something that can be typed at one place. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** One command of the tree. */
export interface CommandNode {
  /** Words that lead to it, such as `abx files list`. */
  readonly path: string;
  readonly subcommands: readonly (Candidate & {
    /** The word and its aliases. */
    readonly words: readonly string[];
  })[];
  readonly options: readonly Candidate[];
  /** Words that its first argument may be. */
  readonly choices: readonly string[];
}

/** All commands, each before those below it. */
export function readCommandTree(program: Command): CommandNode[] {
  const shared = toOptions(program);
  const nodes: CommandNode[] = [];
  const visit = (command: Command, path: string): void => {
    const subcommands = command.commands.map((sub) => ({
      word: sub.name(),
      words: [sub.name(), ...sub.aliases()],
      description: sub.description(),
    }));
    const options = command === program ? shared : [...toOptions(command), ...shared.filter(({ word }) => word !== "--version")];
    nodes.push({ path, subcommands, options, choices: command.registeredArguments[0]?.argChoices ?? [] });
    for (const sub of command.commands) visit(sub, `${path} ${sub.name()}`);
  };
  visit(program, program.name());
  return nodes;
}

function toOptions(command: Command): Candidate[] {
  return command.options.flatMap(({ long, description }) => (long ? [{ word: long, description }] : []));
}

/** Words of each step into the tree, aliases among them, and where it leads: `["abx ls", "abx list"]`. */
export function toSteps(nodes: readonly CommandNode[]): (readonly [step: string, path: string])[] {
  return nodes.flatMap(({ path, subcommands }) =>
    subcommands.flatMap(({ word, words }) => words.map((typed) => [`${path} ${typed}`, `${path} ${word}`] as const)),
  );
}
