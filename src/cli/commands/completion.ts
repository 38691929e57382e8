import type { Command } from "commander";
import { toBashScript } from "../completion/bash.js";
import { readCommandTree } from "../completion/command-tree.js";
import { toFishScript } from "../completion/fish.js";
import { toZshScript } from "../completion/zsh.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeOut } from "../output.js";

const WRITERS = { bash: toBashScript, zsh: toZshScript, fish: toFishScript };

/** `abx completion`: from the very commands that there are, so it cannot be out of date. */
export async function runCompletionCommand(shell: keyof typeof WRITERS, program: Command): Promise<ExitCode> {
  await writeOut(WRITERS[shell](readCommandTree(program)));
  return EXIT.ok;
}
