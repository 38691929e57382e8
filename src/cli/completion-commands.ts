import { Argument, type Command } from "commander";
import type { ProgramContext } from "./program.js";

/** `abx completion`. */
export function addCompletionCommand(program: Command, { setExitCode }: ProgramContext): void {
  program
    .command("completion")
    .description("print a script that completes command lines of abx")
    .addArgument(new Argument("<shell>", "shell that will read it").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      `
bash: abx completion bash > ~/.local/share/bash-completion/completions/abx
zsh:  abx completion zsh > "\${fpath[1]}/_abx"
fish: abx completion fish > ~/.config/fish/completions/abx.fish`,
    )
    .action(async (shell) => setExitCode(await (await import("./commands/completion.js")).runCompletionCommand(shell, program)));
}
