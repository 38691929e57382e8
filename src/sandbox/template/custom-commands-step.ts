import { CUSTOM_COMMANDS_FILE, type CustomCommandSpec, parseCustomCommands } from "../../shared/custom-commands.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import type { ShellStep } from "./shell-steps.js";

/**
 * Write the custom commands to where sandboxes and their clients look for them.
 *
 * @throws InvalidArgumentError: one of them cannot be run as it is written.
 */
export function customCommandsStep(commands: Readonly<Record<string, CustomCommandSpec>>): ShellStep {
  parseCustomCommands(commands, "template");
  const directory = CUSTOM_COMMANDS_FILE.slice(0, CUSTOM_COMMANDS_FILE.lastIndexOf("/"));
  const text = quoteShellWord(JSON.stringify({ custom_commands: commands }));
  return { command: `mkdir -p ${directory} && printf '%s\\n' ${text} > ${CUSTOM_COMMANDS_FILE}`, user: "root" };
}
