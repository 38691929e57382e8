import type { CommandArgument } from "../shared/command-arguments.js";
import { InternalError, InvalidArgumentError, NotFoundError } from "./error-classes.js";
import type { SandboxErrorOptions } from "./sandbox-error.js";

/** No named command has this name. */
export class CommandNotFoundError extends NotFoundError {
  override readonly name: string = "CommandNotFoundError";
  /** Name of the command that was called. */
  readonly commandName: string;
  /** Names of the commands that there are. */
  readonly available: readonly string[];
  constructor(message: string, options?: SandboxErrorOptions & { readonly commandName?: string; readonly available?: readonly string[] }) {
    super(message, options);
    this.commandName = options?.commandName ?? "";
    this.available = options?.available ?? [];
  }
}

/** An argument of a named command is missing, unknown or of the wrong type. */
export class CommandArgumentError extends InvalidArgumentError {
  override readonly name: string = "CommandArgumentError";
  /** Name of the command that was called. */
  readonly commandName: string;
  /** Name of the argument. */
  readonly argument: string;
  /** The arguments that the command takes. */
  readonly expected: readonly CommandArgument[];
  constructor(
    message: string,
    options?: SandboxErrorOptions & {
      readonly commandName?: string;
      readonly argument?: string;
      readonly expected?: readonly CommandArgument[];
    },
  ) {
    super(message, options);
    this.commandName = options?.commandName ?? "";
    this.argument = options?.argument ?? "";
    this.expected = options?.expected ?? [];
  }
}

/** A named command began and failed. */
export class NamedCommandError extends InternalError {
  override readonly name: string = "NamedCommandError";
  /** Name of the command that was called. */
  readonly commandName: string;
  /** Name of the exception inside the sandbox, for example `TypeError`. */
  readonly errorType: string;
  constructor(message: string, options?: SandboxErrorOptions & { readonly commandName?: string; readonly errorType?: string }) {
    super(message, options);
    this.commandName = options?.commandName ?? "";
    this.errorType = options?.errorType ?? "";
  }
}

/** The error for a name that no command has, which lists those that there are. */
export function toUnknownCommand(commandName: string, available: readonly string[], options?: SandboxErrorOptions): CommandNotFoundError {
  const message = `Unknown command '${commandName}'; available: ${available.join(", ") || "none"}`;
  return new CommandNotFoundError(message, { ...options, commandName, available });
}
