import {
  type CommandResult as MastraCommandResult,
  ProcessHandle,
  type SpawnProcessOptions,
  UnsupportedStdinCloseError,
} from "@mastra/core/workspace";
import { InvalidArgumentError, TimeoutError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { CommandHandle, CommandResult, OutputOptions } from "../../sandbox/command-handle.js";
import { exitStatusOf } from "../exit-status.js";
import { describeMissingOutput } from "../missing-output.js";

/** What a shell reports for a command that was ended for its time, as timeout(1) does. */
const TIMED_OUT = 124;
/** What a handle reports for a process whose end is unknown. */
const UNKNOWN_END = -1;

/** How a process of a sandbox is followed. */
export interface FollowOptions extends Pick<SpawnProcessOptions, "maxRetainedBytes" | "onStdout" | "onStderr"> {
  /** Its standard input is a pipe. */
  readonly hasStdin: boolean;
  /** Milliseconds until the daemon ends it; 0 never. */
  readonly timeoutMs: number;
  /** The daemon can close standard input. */
  readonly canCloseStdin: boolean;
}

/** A process in a sandbox, as Mastra handles processes. */
export class AgentSandboxProcess extends ProcessHandle {
  readonly #options: FollowOptions;
  readonly #startedAt = performance.now();
  #handle: CommandHandle | undefined;
  #exitCode: number | undefined;
  #result: Promise<MastraCommandResult> | undefined;
  #isOpen = false;
  readonly #opened: Promise<void>;
  #open: () => void = () => {};

  /** @param follow starts the process, or joins it, and gives its output to these callbacks */
  static async follow(
    follow: (output: OutputOptions<string>) => Promise<CommandHandle>,
    options: FollowOptions,
  ): Promise<AgentSandboxProcess> {
    const process = new AgentSandboxProcess(options);
    process.#attach(await follow(process.#callbacks()));
    return process;
  }

  private constructor(options: FollowOptions) {
    super(options);
    this.#options = options;
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** `undefined` while it runs; as a shell reports it, and -1 where the end is unknown. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  get pid(): string {
    return String(this.#requireHandle().pid);
  }

  /** The base class puts a function in its place that takes these options and calls this one. */
  override async wait(_options?: Parameters<ProcessHandle["wait"]>[0]): Promise<MastraCommandResult> {
    if (this.#result === undefined) throw new TypeError("this process was not started");
    return this.#result;
  }

  override async kill(): Promise<boolean> {
    return this.exitCode === undefined && (await this.#requireHandle().kill());
  }

  override async sendStdin(data: string): Promise<void> {
    await this.#requireStdin().sendStdin(data);
  }

  /** End its standard input. @throws `UnsupportedStdinCloseError` the daemon of the sandbox is too old for that. */
  override async closeStdin(): Promise<void> {
    const handle = this.#requireStdin();
    if (!this.#options.canCloseStdin) {
      throw new UnsupportedStdinCloseError("the daemon of this sandbox cannot close standard input: rebuild its template");
    }
    await handle.closeStdin();
  }

  /** Stop following it; the process goes on, and `wait()` rejects. */
  async detach(): Promise<void> {
    await this.#handle?.disconnect();
  }

  #attach(handle: CommandHandle): void {
    this.#handle = handle;
    this.#result = this.#settle(handle);
    this.#result.catch(() => {}); // told to who waits
    // Listeners may use the handle, which whoever starts the process has only a turn of the event loop later.
    setTimeout(() => {
      this.#isOpen = true;
      this.#open();
    }, 0);
  }

  #callbacks(): OutputOptions<string> {
    const deliver = (emit: () => void): void | Promise<void> => (this.#isOpen ? emit() : this.#opened.then(emit));
    return {
      onStdout: (text) => deliver(() => this.emitStdout(text)),
      onStderr: (text) => deliver(() => this.emitStderr(text)),
      onGap: ({ missingBytes }) =>
        deliver(() => this.emitStderr(`[${describeMissingOutput({ missingBytes, outputMayBeIncomplete: true })}]\n`)),
      // The base class keeps what is asked for.
      maxOutputBytes: 0,
    };
  }

  async #settle(handle: CommandHandle): Promise<MastraCommandResult> {
    try {
      return this.#toResult(await handle.waitForOutcome());
    } catch (error) {
      if (error instanceof TimeoutError && error.timeout === "command") return this.#toTimedOut();
      this.#exitCode = UNKNOWN_END;
      // A listener failed: nobody follows the process any more.
      if (!SandboxError.isInstance(error) || error.reason === "internal") handle.kill().catch(() => {});
      throw error;
    }
  }

  #toResult(result: CommandResult): MastraCommandResult {
    if (result.isOutOfMemory) this.emitStderr("The command was killed because the sandbox ran out of memory.\n");
    const end = exitStatusOf(result);
    this.#exitCode = end;
    return { ...this.#soFar(end), killed: result.signal !== undefined };
  }

  #toTimedOut(): MastraCommandResult {
    this.emitStderr(`\nThe command was killed after ${this.#options.timeoutMs} ms.\n`);
    this.#exitCode = TIMED_OUT;
    return { ...this.#soFar(TIMED_OUT), killed: true, timedOut: true };
  }

  #soFar(exitCode: number): MastraCommandResult {
    const executionTimeMs = Math.round(performance.now() - this.#startedAt);
    return {
      success: exitCode === 0,
      exitCode,
      stdout: this.stdout,
      stderr: this.stderr,
      executionTimeMs,
      ...(this.command !== undefined && { command: this.command }),
    };
  }

  #requireHandle(): CommandHandle {
    if (this.#handle === undefined) throw new TypeError("this process was not started");
    return this.#handle;
  }

  #requireStdin(): CommandHandle {
    const handle = this.#requireHandle();
    if (this.exitCode !== undefined) throw new InvalidArgumentError(`process ${handle.pid} has ended with exit code ${this.exitCode}`);
    if (!this.#options.hasStdin) {
      throw new InvalidArgumentError(`process ${handle.pid} has no standard input: start it with stdinMode: "pipe"`);
    }
    return handle;
  }
}
