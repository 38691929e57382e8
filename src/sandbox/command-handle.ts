import { CommandExitError, type CommandOutcome } from "../errors/command-exit-error.js";
import { ConnectionError, InternalError } from "../errors/error-classes.js";
import type { ProcessStream } from "../protocol/process-client.js";
import type { RequestOptions } from "../transport/config.js";

/** How a command ended. */
export interface CommandResult extends CommandOutcome {}

/** A piece of output, in the order in which the daemon sent it. */
export type CommandOutput =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "pty"; readonly data: Uint8Array };

/** Receives output. A promise that it returns is awaited before the next piece, and before `wait()` settles. */
export type OutputCallback<T> = (output: T) => void | Promise<void>;

/** Callbacks of one stream. */
export interface OutputCallbacks {
  readonly onStdout?: OutputCallback<string> | undefined;
  readonly onStderr?: OutputCallback<string> | undefined;
  readonly onData?: OutputCallback<Uint8Array> | undefined;
}

/** What a handle needs to act on its process. */
export interface HandleActions {
  kill(pid: number, options?: RequestOptions): Promise<boolean>;
  sendStdin(pid: number, data: string | Uint8Array, options?: RequestOptions): Promise<void>;
  closeStdin(pid: number, options?: RequestOptions): Promise<void>;
}

type Ending = { readonly outcome: CommandOutcome } | { readonly failure: unknown };

/**
 * A running command or terminal.
 *
 * The process does not depend on the handle: dropping it, or {@link CommandHandle.disconnect}, leaves the process running.
 */
export class CommandHandle implements AsyncIterable<CommandOutput> {
  readonly pid: number;
  readonly #stream: ProcessStream;
  readonly #actions: HandleActions;
  readonly #log: CommandOutput[] = [];
  readonly #finished: Promise<void>;
  #finish: () => void = () => {};
  #ending: Ending | undefined;
  #wake: (() => void)[] = [];
  #joined = { stdout: "", stderr: "", count: 0 };

  constructor(stream: ProcessStream, actions: HandleActions, callbacks: OutputCallbacks) {
    this.pid = stream.pid;
    this.#stream = stream;
    this.#actions = actions;
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    // The outcome is kept rather than rejected: a handle that nobody awaits never becomes an unhandled rejection.
    void this.#pump(callbacks);
  }

  /** Output so far; a character that is cut at a chunk boundary appears once it is whole. */
  get stdout(): string {
    return this.#join().stdout;
  }

  /** As {@link CommandHandle.stdout}, for standard error. */
  get stderr(): string {
    return this.#join().stderr;
  }

  /** Exit status, `-1` for a signal; `undefined` while the process runs. */
  get exitCode(): number | undefined {
    return this.#outcome?.exitCode;
  }

  /** The daemon's words for a failure; `undefined` while the process runs and for success. */
  get error(): string | undefined {
    return this.#outcome?.error;
  }

  /**
   * Wait for the end of the process.
   *
   * @throws {@link CommandExitError} the exit code is not 0; {@link TimeoutError} it ran longer than its `timeoutMs`, or the
   * sandbox ended; {@link ConnectionError} the stream broke or was disconnected, and how the process ended is unknown.
   */
  async wait(): Promise<CommandResult> {
    const outcome = await this.waitForOutcome();
    if (outcome.exitCode !== 0) throw new CommandExitError(outcome, { operation: "commands.wait" });
    return outcome;
  }

  /** As {@link CommandHandle.wait}, but a non-zero exit code is a result. */
  async waitForOutcome(): Promise<CommandResult> {
    await this.#finished;
    const ending = this.#ending;
    if (ending === undefined || "failure" in ending) throw ending?.failure;
    return ending.outcome;
  }

  /** Send SIGKILL. False when the process was gone already. */
  kill(options?: RequestOptions): Promise<boolean> {
    return this.#actions.kill(this.pid, options);
  }

  /** Stop following the process, which keeps running; `commands.connect(pid)` follows it again. */
  async disconnect(): Promise<void> {
    this.#stream.cancel(
      new ConnectionError(`the handle of process ${this.pid} was disconnected; commands.connect(${this.pid}) follows it again`, {
        operation: "commands.disconnect",
        isRetryable: false,
      }),
    );
    await this.#finished;
  }

  /** Write to standard input; resolves when the daemon delivered it. */
  sendStdin(data: string | Uint8Array, options?: RequestOptions): Promise<void> {
    return this.#actions.sendStdin(this.pid, data, options);
  }

  /** Close standard input, so that the process reads end-of-file. */
  closeStdin(options?: RequestOptions): Promise<void> {
    return this.#actions.closeStdin(this.pid, options);
  }

  /**
   * The output from the start of this handle, in order, until the process ends.
   *
   * Leaving the loop early disconnects. Ends without an error for any exit code; rejects where {@link CommandHandle.wait}
   * would not know the exit code.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<CommandOutput, void, undefined> {
    let index = 0;
    let isComplete = false;
    try {
      for (;;) {
        const output = this.#log[index];
        if (output !== undefined) {
          index += 1;
          yield output;
        } else if (this.#ending !== undefined) {
          isComplete = true;
          if ("failure" in this.#ending) throw this.#ending.failure;
          return;
        } else {
          await new Promise<void>((resolve) => this.#wake.push(resolve));
        }
      }
    } finally {
      if (!isComplete) await this.disconnect();
    }
  }

  get #outcome(): CommandOutcome | undefined {
    return this.#ending !== undefined && "outcome" in this.#ending ? this.#ending.outcome : undefined;
  }

  async #pump(callbacks: OutputCallbacks): Promise<void> {
    const decoders = { stdout: newDecoder(), stderr: newDecoder() };
    try {
      for await (const event of this.#stream.events) {
        if (event.type === "pty") {
          this.#append({ type: "pty", data: event.data });
          await runCallback(callbacks.onData, event.data);
        } else if (event.type !== "end") {
          await this.#deliver(event.type, decoders[event.type].decode(event.data, { stream: true }), callbacks);
        } else {
          await this.#deliver("stdout", decoders.stdout.decode(), callbacks);
          await this.#deliver("stderr", decoders.stderr.decode(), callbacks);
          const { exitCode, error } = event;
          const { stdout, stderr } = this.#join();
          this.#end({ outcome: { exitCode, ...(error !== undefined && { error }), stdout, stderr } });
        }
      }
    } catch (failure) {
      this.#end({ failure });
      this.#stream.cancel(failure);
    }
  }

  /** The first word counts: what the daemon reported stands, even where the connection breaks right after it. */
  #end(ending: Ending): void {
    this.#ending ??= ending;
    this.#finish();
    this.#wakeAll();
  }

  async #deliver(type: "stdout" | "stderr", text: string, callbacks: OutputCallbacks): Promise<void> {
    if (text === "") return;
    this.#append({ type, text });
    await runCallback(type === "stdout" ? callbacks.onStdout : callbacks.onStderr, text);
  }

  #append(output: CommandOutput): void {
    this.#log.push(output);
    this.#wakeAll();
  }

  #wakeAll(): void {
    const waiting = this.#wake;
    this.#wake = [];
    for (const wake of waiting) wake();
  }

  #join(): { readonly stdout: string; readonly stderr: string } {
    const { count } = this.#joined;
    if (count < this.#log.length) {
      const fresh = this.#log.slice(count);
      const textOf = (type: "stdout" | "stderr") => fresh.map((output) => (output.type === type ? output.text : "")).join("");
      this.#joined = {
        stdout: this.#joined.stdout + textOf("stdout"),
        stderr: this.#joined.stderr + textOf("stderr"),
        count: this.#log.length,
      };
    }
    return this.#joined;
  }
}

/** A byte order mark is output like any other. */
function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

async function runCallback<T>(callback: OutputCallback<T> | undefined, output: T): Promise<void> {
  try {
    await callback?.(output);
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    throw new InternalError("an output callback threw a value that is not an Error", { cause: thrown });
  }
}
