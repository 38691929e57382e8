import { InvalidArgumentError } from "../errors/error-classes.js";
import { type ArgumentSpecs, toCommandArguments } from "../shared/command-arguments.js";
import type { ArgumentValues, Command, CommandContext, CommandSet } from "../shared/command-definition.js";
import { COMMAND_NAME } from "../shared/custom-commands.js";

/** How a command is written. */
export interface CommandOptions<A extends ArgumentSpecs, T> {
  /** Arguments by name: `{ name: "string" }`, or `{ name: { type: "string", default: "World" } }`. @defaultValue none */
  readonly args?: A;
  /** What it does, for lists. @defaultValue "" */
  readonly description?: string;
  /** It can be run and is not listed. @defaultValue false */
  readonly isHidden?: boolean;
  /**
   * What it does. The result goes to the caller as JSON. An async generator reports what it yields as progress, and what it returns is the
   * result. What it throws is an error of the caller's, with the name and message of the exception.
   */
  run(args: ArgumentValues<A>, context: CommandContext): T;
}

/** Describe a command. */
// biome-ignore lint/complexity/noBannedTypes: a command without arguments takes an object without fields
export function command<const A extends ArgumentSpecs = {}, T = unknown>(options: CommandOptions<A, T>): Command<A, T> {
  const { args = {} as A, description = "", isHidden = false } = options; // A is {} where args are left out
  if (typeof options.run !== "function") throw new InvalidArgumentError("a command needs a function run");
  toCommandArguments(args, "command");
  return Object.freeze({ args, description, isHidden, run: options.run.bind(options) });
}

/**
 * Commands by name. `typeof` of the result gives clients the types of arguments and results.
 *
 * @throws {@link InvalidArgumentError} a name has other characters than letters, digits, `_`, `.` and `-`, or more than 128.
 */
export function defineCommands<const C extends CommandSet>(commands: C): C {
  for (const [name, { args }] of Object.entries(commands)) {
    if (!COMMAND_NAME.test(name)) {
      throw new InvalidArgumentError(`command ${JSON.stringify(name)}: a name has letters, digits, _ . and -, at most 128`);
    }
    toCommandArguments(args, `command '${name}'`);
  }
  return Object.freeze({ ...commands });
}
