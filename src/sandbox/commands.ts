import { CommandExitError } from "../errors/command-exit-error.js";
import { InvalidArgumentError, UnimplementedError } from "../errors/error-classes.js";
import { DAEMON_FEATURES, isVersionAtLeast } from "../protocol/daemon-version.js";
import type { ProcessClient, ProcessInfo } from "../protocol/process-client.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import { type CommandBytes, CommandHandle, type CommandOutput, type CommandResult, type OutputOptions } from "./command-handle.js";
import { checkEnvs, checkPid, checkUser } from "./options.js";

interface CommandStartSettings extends RequestOptions {
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
  /** Name that {@link Commands.list} shows. */
  readonly tag?: string | undefined;
}

/** How a command is started. */
export interface CommandStartOptions extends CommandStartSettings, OutputOptions<string> {
  /** What callbacks and iterations get: text, decoded as UTF-8 over all pieces. @defaultValue "text" */
  readonly format?: "text" | undefined;
}

/** How a command is started whose output is not text. */
export interface CommandBytesStartOptions extends CommandStartSettings, OutputOptions<Uint8Array> {
  /** Callbacks and iterations get the bytes as they were written. */
  readonly format: "bytes";
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

interface CommandConnectSettings extends RequestOptions {
  /** Milliseconds until the following ends with a `TimeoutError`; the command goes on. `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
}

/** How a running command is followed. */
export interface CommandConnectOptions extends CommandConnectSettings, OutputOptions<string> {
  /** @see {@link CommandStartOptions.format} */
  readonly format?: "text" | undefined;
}

/** How a running command is followed whose output is not text. */
export interface CommandBytesConnectOptions extends CommandConnectSettings, OutputOptions<Uint8Array> {
  /** @see {@link CommandBytesStartOptions.format} */
  readonly format: "bytes";
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** Commands of one sandbox. A command is a line for `bash -l`, so pipes, quotes and variables work. */
export class Commands {
  readonly #processes: ProcessClient;
  readonly #envdVersion: string;

  /** @internal */
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
  start(command: string, options: CommandBytesStartOptions): Promise<CommandHandle<CommandBytes>>;
  start(command: string, options?: CommandStartOptions): Promise<CommandHandle>;
  start(
    command: string,
    options: CommandStartOptions | CommandBytesStartOptions = {},
  ): Promise<CommandHandle | CommandHandle<CommandBytes>> {
    return this.#start(command, options, "commands.start");
  }

  /** Follow a running command: output from now on, then its end. One that ended within the last 30 s reports its end at once. */
  connect(pid: number, options: CommandBytesConnectOptions): Promise<CommandHandle<CommandBytes>>;
  connect(pid: number, options?: CommandConnectOptions): Promise<CommandHandle>;
  async connect(
    pid: number,
    options: CommandConnectOptions | CommandBytesConnectOptions = {},
  ): Promise<CommandHandle | CommandHandle<CommandBytes>> {
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    checkMaxOutputBytes(options.maxOutputBytes);
    const { signal, requestTimeoutMs } = options;
    const call = { signal, requestTimeoutMs, timeoutMs, operation: "commands.connect", acceptsGaps: true };
    return new CommandHandle<CommandOutput>(await this.#processes.attach(checkPid(pid), call), this, options);
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
   * Send a POSIX signal, for example `"SIGINT"`, to a process and its group. False when there is no process with this pid.
   *
   * @throws {@link InvalidArgumentError} there is no such signal; {@link UnimplementedError} the daemon is not ours, and sends `SIGTERM` and
   * `SIGKILL` only.
   */
  async sendSignal(pid: number, signal: string, options: RequestOptions = {}): Promise<boolean> {
    assertText("signal", signal);
    return this.#processes.sendSignal(checkPid(pid), signal, { ...options, operation: "commands.sendSignal" });
  }

  /**
   * Write to the standard input of a command that was started with `stdin: true`. Delivered at most once, also where a broken connection
   * makes it necessary to send it again.
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

  async #start(command: string, options: CommandStartOptions, operation: string): Promise<CommandHandle>;
  async #start(
    command: string,
    options: CommandStartOptions | CommandBytesStartOptions,
    operation: string,
  ): Promise<CommandHandle | CommandHandle<CommandBytes>>;
  async #start(command: string, options: CommandStartOptions | CommandBytesStartOptions, operation: string): Promise<CommandHandle> {
    assertText("command", command);
    if (options.cwd !== undefined) assertText("cwd", options.cwd);
    if (options.tag !== undefined) assertText("tag", options.tag);
    checkMaxOutputBytes(options.maxOutputBytes);
    const { signal, requestTimeoutMs, cwd, stdin, tag } = options;
    const user = checkUser(options.user);
    const envs = checkEnvs(options.envs);
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const stream = await this.#processes.start(
      { cmd: "/bin/bash", args: ["-l", "-c", command], envs, cwd, user, stdin, tag },
      { signal, requestTimeoutMs, timeoutMs, operation, acceptsGaps: true },
    );
    return new CommandHandle(stream, this, options);
  }
}

function checkMaxOutputBytes(value: number | undefined): void {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < 0)) {
    throw new InvalidArgumentError(`maxOutputBytes must be a whole number of at least 0, not ${String(value)}`);
  }
}
