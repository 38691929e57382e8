import { existsSync, readFileSync } from "node:fs";
import type { components } from "../../gen/openapi/server.js";
import { InvalidArgumentError } from "../errors/error-classes.js";
import { toUnknownCommand } from "../errors/named-command-errors.js";
import { type ArgumentValue, type CommandArgument, toArgumentValues, toCommandArguments } from "../shared/command-arguments.js";
import type { CommandContext, CommandSet, CommandShape } from "../shared/command-definition.js";
import { CUSTOM_COMMANDS_FILE, type CustomCommand, parseCustomCommands } from "../shared/custom-commands.js";
import { createCustomCommandRunner } from "./custom-command-runner.js";
import type { Programs } from "./programs.js";

/** A command that can be run, wherever it comes from. */
export interface RegisteredCommand {
  readonly name: string;
  readonly description: string;
  readonly isHidden: boolean;
  readonly args: readonly CommandArgument[];
  run(values: Record<string, ArgumentValue>, context: CommandContext): unknown;
}

/** The named commands of one server. It does not change once it was made. */
export class CommandRegistry {
  readonly #commands = new Map<string, RegisteredCommand>();

  /** A command of the template goes before one of the same name of the program. */
  constructor(commands: CommandSet, customCommands: readonly CustomCommand[], programs: Programs) {
    for (const custom of customCommands) {
      this.#commands.set(custom.name, { ...custom, isHidden: false, run: createCustomCommandRunner(custom, programs) });
    }
    for (const [name, definition] of Object.entries(commands))
      if (!this.#commands.has(name)) this.#commands.set(name, register(name, definition));
  }

  /** Commands that are not hidden, in the order of their registration. */
  list(): components["schemas"]["CommandList"]["commands"] {
    return [...this.#commands.values()]
      .filter(({ isHidden }) => !isHidden)
      .map(({ name, description, args }) => ({ name, description, args: [...args] }));
  }

  /**
   * Run a command: what it reports on its way, then what it returns.
   *
   * @throws CommandNotFoundError; CommandArgumentError; what the command throws.
   */
  async *run(name: string, given: Readonly<Record<string, unknown>>, context: CommandContext): AsyncGenerator<unknown, unknown, undefined> {
    const command = this.#commands.get(name);
    if (command === undefined) {
      const names = this.list().map((listed) => listed.name);
      throw toUnknownCommand(name.slice(0, 128), names);
    }
    const outcome = await command.run(toArgumentValues(name, command.args, given), context);
    return isAsyncGenerator(outcome) ? yield* outcome : outcome;
  }
}

/**
 * The custom commands of the template that this server is in.
 *
 * @throws {@link InvalidArgumentError} the file cannot be read or is malformed.
 */
export function loadCustomCommands(file: string | undefined): readonly CustomCommand[] {
  const wanted = file ?? (existsSync(CUSTOM_COMMANDS_FILE) ? CUSTOM_COMMANDS_FILE : undefined);
  if (wanted === undefined) return [];
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(wanted, "utf8"));
  } catch (cause) {
    throw new InvalidArgumentError(`${wanted} cannot be read as JSON`, { cause });
  }
  if (typeof value !== "object" || value === null) throw new InvalidArgumentError(`${wanted} must hold custom_commands`);
  return parseCustomCommands("custom_commands" in value ? value.custom_commands : undefined, wanted);
}

function register(name: string, definition: CommandShape): RegisteredCommand {
  const { description = "", isHidden = false } = definition as Partial<Pick<RegisteredCommand, "description" | "isHidden">>; // command() sets them
  return {
    name,
    description,
    isHidden,
    args: toCommandArguments(definition.args, `command '${name}'`),
    // The values were checked against the very arguments that its type comes from.
    run: (values, context) => definition.run(values as never, context),
  };
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, undefined> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "return" in value;
}
