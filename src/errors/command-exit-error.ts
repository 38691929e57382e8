import { SandboxError, type SandboxErrorOptions } from "./sandbox-error.js";

/** How a command ended, as the daemon reported it. */
export interface CommandOutcome {
  /** Exit status; `-1` when a signal ended the process. */
  readonly exitCode: number;
  /** The daemon's words for a failure, e.g. `exit status 2` or `signal: killed`; absent for success. */
  readonly error?: string | undefined;
  /** What it wrote to standard output. */
  readonly stdout: string;
  /** What it wrote to standard error. */
  readonly stderr: string;
  /** Name of the signal that ended the process, for example `SIGKILL`; absent when it exited by itself. */
  readonly signal?: string | undefined;
  /** `true` when the kernel ended the process for want of memory. */
  readonly isOutOfMemory?: boolean | undefined;
  /** Bytes of output that broken connections cost; absent when nothing is known to be missing. */
  readonly missingBytes?: number | undefined;
  /** `true` when a connection broke and the daemon could not tell whether output was lost. */
  readonly outputMayBeIncomplete?: boolean | undefined;
  /** Bytes that `stdout` and `stderr` leave out because of `maxOutputBytes`; absent when they are whole. */
  readonly truncatedBytes?: number | undefined;
}

/** A command ended with another exit code than 0. Carries the whole result. */
export class CommandExitError extends SandboxError implements CommandOutcome {
  override readonly name: string = "CommandExitError";
  readonly exitCode: number;
  readonly error: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly signal: string | undefined;
  readonly isOutOfMemory: boolean | undefined;
  readonly missingBytes: number | undefined;
  readonly outputMayBeIncomplete: boolean | undefined;
  readonly truncatedBytes: number | undefined;

  constructor(outcome: CommandOutcome, options?: SandboxErrorOptions) {
    super("command_exit", toMessage(outcome), options);
    this.exitCode = outcome.exitCode;
    this.error = outcome.error;
    this.stdout = outcome.stdout;
    this.stderr = outcome.stderr;
    this.signal = outcome.signal;
    this.isOutOfMemory = outcome.isOutOfMemory;
    this.missingBytes = outcome.missingBytes;
    this.outputMayBeIncomplete = outcome.outputMayBeIncomplete;
    this.truncatedBytes = outcome.truncatedBytes;
  }
}

const EXCERPT_LENGTH = 500;

function toMessage({ exitCode, error, stderr, isOutOfMemory }: CommandOutcome): string {
  const end = exitCode === -1 && error !== undefined ? `the command ended by ${error}` : `the command ended with exit code ${exitCode}`;
  const what = isOutOfMemory ? `${end} because the sandbox ran out of memory` : end;
  const tail = stderr.trimEnd().slice(-EXCERPT_LENGTH);
  return tail === "" ? what : `${what}: ${tail}`;
}
