import { SandboxError, type SandboxErrorOptions } from "./sandbox-error.js";

/** How a command ended, as the daemon reported it. */
export interface CommandOutcome {
  /** Exit status; `-1` when a signal ended the process. */
  readonly exitCode: number;
  /** The daemon's words for a failure, e.g. `exit status 2` or `signal: killed`; absent for success. */
  readonly error?: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command ended with another exit code than 0. Carries the whole result. */
export class CommandExitError extends SandboxError implements CommandOutcome {
  override readonly name: string = "CommandExitError";
  readonly exitCode: number;
  readonly error: string | undefined;
  readonly stdout: string;
  readonly stderr: string;

  constructor(outcome: CommandOutcome, options?: SandboxErrorOptions) {
    super("command_exit", toMessage(outcome), options);
    this.exitCode = outcome.exitCode;
    this.error = outcome.error;
    this.stdout = outcome.stdout;
    this.stderr = outcome.stderr;
  }
}

const EXCERPT_LENGTH = 500;

function toMessage({ exitCode, error, stderr }: CommandOutcome): string {
  const what = exitCode === -1 && error !== undefined ? `the command ended by ${error}` : `the command ended with exit code ${exitCode}`;
  const tail = stderr.trimEnd().slice(-EXCERPT_LENGTH);
  return tail === "" ? what : `${what}: ${tail}`;
}
