import type { CommandArgument } from "../shared/command-arguments.js";
import { InternalError, InvalidArgumentError, NotFoundError } from "./error-classes.js";
import type { SandboxErrorOptions } from "./sandbox-error.js";

/** No named command has this name. */
export class CommandNotFoundError extends NotFoundError {
  override readonly name: string = "CommandNotFoundError";
  readonly commandName: string;
  /** Names of the commands that there are. */
  readonly available: readonly string[];
  constructor(commandName: string, available: readonly string[], options?: SandboxErrorOptions) {
    super(`Unknown command '${commandName}'; available: ${available.join(", ") || "none"}`, options);
    this.commandName = commandName;
    this.available = available;
  }
}

/** An argument of a named command is missing, unknown or of the wrong type. */
export class CommandArgumentError extends InvalidArgumentError {
  override readonly name: string = "CommandArgumentError";
  readonly commandName: string;
  /** Name of the argument. */
  readonly argument: string;
  /** The arguments that the command takes. */
  readonly expected: readonly CommandArgument[];
  constructor(
    facts: {
      readonly commandName: string;
      readonly argument: string;
      readonly expected: readonly CommandArgument[];
      readonly problem: string;
    },
    options?: SandboxErrorOptions,
  ) {
    const { commandName, argument, expected, problem } = facts;
    super(`command '${commandName}': argument '${argument}' ${problem}; it takes ${describeArguments(expected)}`, options);
    this.commandName = commandName;
    this.argument = argument;
    this.expected = expected;
  }
}

/** A named command began and failed. */
export class NamedCommandError extends InternalError {
  override readonly name: string = "NamedCommandError";
  readonly commandName: string;
  /** Name of the exception inside the sandbox, for example `TypeError`. */
  readonly errorType: string;
  constructor(message: string, facts: { readonly commandName: string; readonly errorType: string }, options?: SandboxErrorOptions) {
    super(message, options);
    this.commandName = facts.commandName;
    this.errorType = facts.errorType;
  }
}

function describeArguments(expected: readonly CommandArgument[]): string {
  if (expected.length === 0) return "no arguments";
  return expected.map(({ name, type, required }) => `${name}${required ? "" : "?"}: ${type}`).join(", ");
}
