import { type Command, CommanderError } from "commander";
import { buildProgram } from "../../../src/cli/program.js";
import { splitShellWords } from "../../../src/shared/shell-split.js";

/** What `abx` is called with on each line of a shell block; placeholders such as `"$id"` are words as they stand. */
export function abxCalls(script: string): string[][] {
  return commandLines(script).flatMap((line) =>
    [...line.matchAll(/(?:^|[\s(=])abx(?= |$)(.*)/g)].map(([, rest = ""]) => {
      const words = splitShellWords(rest);
      const end = words.findIndex((word) => /^(\||&&|\|\||;|&|>+)$/.test(word));
      // What is called for its output ends at the parenthesis of `$(…)`.
      return (end === -1 ? words : words.slice(0, end)).map((word) => word.replace(/[);]+"?$/, ""));
    }),
  );
}

/** The lines of a shell block without comments, continued ones joined. */
export function commandLines(script: string): string[] {
  return script
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(^|\s+)# .*$/, "").trim())
    .filter((line) => line !== "");
}

/** Why the real program refuses a command line, if it does. Nothing of the command runs. */
export function findRefusal(args: readonly string[], { mayBeShort = false } = {}): string | undefined {
  const program = buildProgram({
    outputClosed: new AbortController().signal,
    setExitCode: () => undefined,
    ignoreClosedOutput: () => undefined,
    notices: { silence: () => undefined } as Parameters<typeof buildProgram>[0]["notices"], // parsing says nothing
  });
  for (const command of [program, ...descendants(program)])
    command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const parsed = new Error("parsed");
  program.hook("preAction", () => {
    throw parsed;
  });
  try {
    program.parse(args, { from: "user" });
    return undefined;
  } catch (error) {
    if (error === parsed) return undefined;
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.code === "commander.help") return undefined;
    if (mayBeShort && /missing/i.test(error.code)) return undefined;
    return error.message;
  }
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child as Command, ...descendants(child as Command)]);
}
