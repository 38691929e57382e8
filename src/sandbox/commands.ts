import { CommandExitError } from "../errors/command-exit-error.js";
import { UnimplementedError } from "../errors/error-classes.js";
import { DAEMON_FEATURES, isVersionAtLeast } from "../protocol/daemon-version.js";
import type { ProcessClient, ProcessInfo } from "../protocol/process-client.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import { CommandHandle, type CommandResult, type OutputCallback } from "./command-handle.js";
import { checkEnvs, checkPid, checkUser } from "./options.js";

/** How a command is started. */
export interface CommandStartOptions extends RequestOptions {
  /** User inside the sandbox. @defaultValue the template's user, `user` for the standard templates */
  readonly user?: string | undefined;
  /** Working directory; relative to the user's home. @defaultValue the template's directory, else the home */
  readonly cwd?: string | undefined;
  /** Variables over those of the sandbox; `undefined` values are left out. */
  readonly envs?: Readonly<Record<string, string | undefined>> | undefined;
  /** Keep standard input open for {@link Commands.sendStdin}. Without it the command reads end-of-file at once. @defaultValue false */
  readonly stdin?: boolean | undefined;
  /** Milliseconds until the daemon kills the command; `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
  /** Called with each piece of standard output, in order and awaited. A failure stops the following and rejects `wait()`. */
  readonly onStdout?: OutputCallback<string> | undefined;
  /** As `onStdout`, for standard error. */
  readonly onStderr?: OutputCallback<string> | undefined;
}

/** How a command is run to its end. */
export interface CommandRunOptions extends CommandStartOptions {
  readonly background?: false | undefined;
  /** `false` resolves with the result for any exit code. @defaultValue true */
  readonly reject?: boolean | undefined;
}

/** How a command is left running. */
export interface CommandBackgroundOptions extends CommandStartOptions {
  readonly background: true;
}

/** How a running command is followed. */
export interface CommandConnectOptions extends RequestOptions {
  /** Milliseconds until the following ends with a `TimeoutError`; the command goes on. `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
  readonly onStdout?: OutputCallback<string> | undefined;
  readonly onStderr?: OutputCallback<string> | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Commands of one sandbox. A command is a line for `bash -l`, so pipes, quotes and variables work. */
export class Commands {
  readonly #processes: ProcessClient;
  readonly #envdVersion: string;

  constructor(processes: ProcessClient, envdVersion: string) {
    this.#processes = processes;
    this.#envdVersion = envdVersion;
  }

  /**
   * Run a command to its end.
   *
   * The call owns the command: aborting `signal`, or a failing callback, kills it. With `background: true` it is
   * {@link Commands.start}.
   *
   * @throws {@link CommandExitError} the exit code is not 0 (unless `reject: false`); {@link TimeoutError} it was killed after
   * `timeoutMs`, or the sandbox ended; {@link InvalidArgumentError} the directory or an option is wrong;
   * {@link AuthenticationError} there is no such user; {@link ConnectionError} the connection broke and the end is unknown.
   */
  run(command: string, options?: CommandRunOptions): Promise<CommandResult>;
  run(command: string, options: CommandBackgroundOptions): Promise<CommandHandle>;
  run(command: string, options?: CommandRunOptions | CommandBackgroundOptions): Promise<CommandResult | CommandHandle>;
  async run(command: string, options: CommandRunOptions | CommandBackgroundOptions = {}): Promise<CommandResult | CommandHandle> {
    if (options.background) return this.start(command, options);
    const handle = await this.#start(command, options, "commands.run");
    try {
      const outcome = await handle.waitForOutcome();
      if (outcome.exitCode !== 0 && options.reject !== false) throw new CommandExitError(outcome, { operation: "commands.run" });
      return outcome;
    } finally {
      // Without an outcome the command may still run, and nobody else has a handle on it.
      if (handle.exitCode === undefined) handle.kill().catch(() => {});
    }
  }

  /**
   * Start a command and resolve once the sandbox reports its pid.
   *
   * The command outlives the connection; {@link Commands.connect} follows it again. A positive `timeoutMs` (the default is
   * 60 s) kills it nevertheless: pass `0` for a service.
   */
  start(command: string, options: CommandStartOptions = {}): Promise<CommandHandle> {
    return this.#start(command, options, "commands.start");
  }

  /** Follow a running command: output from now on, then its end. One that ended within the last 30 s reports its end at once. */
  async connect(pid: number, options: CommandConnectOptions = {}): Promise<CommandHandle> {
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const { signal, requestTimeoutMs } = options;
    const stream = await this.#processes.attach(checkPid(pid), { signal, requestTimeoutMs, timeoutMs, operation: "commands.connect" });
    return new CommandHandle(stream, this, options);
  }

  /** Running commands and terminals. */
  list(options: RequestOptions = {}): Promise<ProcessInfo[]> {
    return this.#processes.list({ ...options, operation: "commands.list" });
  }

  /** Kill a process with SIGKILL. False when there is none with this pid. */
  async kill(pid: number, options: RequestOptions = {}): Promise<boolean> {
    return this.#processes.kill(checkPid(pid), { ...options, operation: "commands.kill" });
  }

  /**
   * Write to the standard input of a command that was started with `stdin: true`. Delivered at most once: never sent again.
   *
   * @throws {@link NotFoundError} no such process; {@link SandboxError} its standard input is closed.
   */
  async sendStdin(pid: number, data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    await this.#processes.sendInput(checkPid(pid), "stdin", bytes, { ...options, operation: "commands.sendStdin" });
  }

  /** Close the standard input of a command, so that it reads end-of-file. Closing twice is fine. */
  async closeStdin(pid: number, options: RequestOptions = {}): Promise<void> {
    if (!this.supportsStdinClose) {
      throw new UnimplementedError(`commands.closeStdin: the daemon (version ${this.#envdVersion}) is too old; rebuild the template`);
    }
    await this.#processes.closeStdin(checkPid(pid), { ...options, operation: "commands.closeStdin" });
  }

  /** The daemon can close the standard input of a command. */
  get supportsStdinClose(): boolean {
    return isVersionAtLeast(this.#envdVersion, DAEMON_FEATURES.closeStdin);
  }

  async #start(command: string, options: CommandStartOptions, operation: string): Promise<CommandHandle> {
    assertText("command", command);
    if (options.cwd !== undefined) assertText("cwd", options.cwd);
    const { signal, requestTimeoutMs, cwd, stdin } = options;
    const user = checkUser(options.user);
    const envs = checkEnvs(options.envs);
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const stream = await this.#processes.start(
      { cmd: "/bin/bash", args: ["-l", "-c", command], envs, cwd, user, stdin },
      { signal, requestTimeoutMs, timeoutMs, operation },
    );
    return new CommandHandle(stream, this, options);
  }
}
