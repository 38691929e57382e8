import { CommandExitError, type CommandOutcome } from "../errors/command-exit-error.js";
import { ConnectionError, InternalError } from "../errors/error-classes.js";
import type { ProcessEnd, ProcessEvent, ProcessStream } from "../protocol/process-events.js";
import type { RequestOptions } from "../transport/config.js";
import { createOutputCapture, createOutputDecoder, type OutputCapture } from "./output-capture.js";
import { OutputWindow } from "./output-window.js";

/** How a command ended. */
export interface CommandResult extends CommandOutcome {}

/** Output that a handle cannot give: lost with a connection, or dropped beyond `maxOutputBytes` before the iteration began. */
export interface OutputGap {
  readonly type: "gap";
  /** `undefined` where the daemon does not count what is lost. */
  readonly missingBytes: number | undefined;
}

/** A piece of output, in the order in which the daemon sent it. */
export type CommandOutput =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "pty"; readonly data: Uint8Array }
  | OutputGap;

/** A piece of output as it was written. */
export type CommandBytes = { readonly type: "stdout" | "stderr" | "pty"; readonly data: Uint8Array } | OutputGap;

/** Receives output. A promise that it returns is awaited before the next piece, and before `wait()` settles. */
export type OutputCallback<T> = (output: T) => unknown;

/** What becomes of the output. `T` is `string`, or `Uint8Array` with `format: "bytes"`. */
export interface OutputOptions<T> {
  /** Called with each piece of standard output, in order and awaited. A failure stops the following and rejects `wait()`. */
  readonly onStdout?: OutputCallback<T> | undefined;
  /** As `onStdout`, for standard error. */
  readonly onStderr?: OutputCallback<T> | undefined;
  /** Called where output is missing because a connection broke, before the output that follows it. */
  readonly onGap?: OutputCallback<OutputGap> | undefined;
  /**
   * Bytes of standard output, and of standard error, that the handle keeps for the result: the first half and the last half, with a line in
   * between that counts what is left out. Iterating is held to as many bytes. `0` keeps nothing.
   *
   * @defaultValue no limit: all output is kept in memory
   */
  readonly maxOutputBytes?: number | undefined;
}

/** How a handle treats what its process writes. */
export interface HandleOptions extends Omit<OutputOptions<never>, "onStdout" | "onStderr"> {
  readonly format?: "text" | "bytes" | undefined;
  readonly onStdout?: OutputCallback<string> | OutputCallback<Uint8Array> | undefined;
  readonly onStderr?: OutputCallback<string> | OutputCallback<Uint8Array> | undefined;
  readonly onData?: OutputCallback<Uint8Array> | undefined;
}

/** What a handle needs to act on its process. */
export interface HandleActions {
  kill(pid: number, options?: RequestOptions): Promise<boolean>;
  sendSignal(pid: number, signal: string, options?: RequestOptions): Promise<boolean>;
  sendStdin(pid: number, data: string | Uint8Array, options?: RequestOptions): Promise<void>;
  closeStdin(pid: number, options?: RequestOptions): Promise<void>;
}

type Ending = { readonly outcome: CommandOutcome } | { readonly failure: unknown };

/**
 * A running command or terminal.
 *
 * The process does not depend on the handle: dropping it, or {@link CommandHandle.disconnect}, leaves the process running. Where the
 * daemon is ours, a broken connection is resumed at the next byte, for up to 30 seconds without one; elsewhere the handle goes on with what
 * comes next and the result says `outputMayBeIncomplete`.
 */
export class CommandHandle<Output extends CommandOutput | CommandBytes = CommandOutput> implements AsyncIterable<Output> {
  readonly pid: number;
  readonly #stream: ProcessStream;
  readonly #actions: HandleActions;
  readonly #options: HandleOptions;
  readonly #window: OutputWindow<Output>;
  readonly #captures: { readonly stdout: OutputCapture; readonly stderr: OutputCapture };
  readonly #decoders = { stdout: createOutputDecoder(), stderr: createOutputDecoder() };
  readonly #finished: Promise<void>;
  #finish: () => void = () => {};
  #ending: Ending | undefined;
  #missingBytes = 0;
  #outputMayBeIncomplete = false;
  #input: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(stream: ProcessStream, actions: HandleActions, options: HandleOptions) {
    this.pid = stream.pid;
    this.#stream = stream;
    this.#actions = actions;
    this.#options = options;
    this.#window = new OutputWindow(options.maxOutputBytes);
    this.#captures = { stdout: createOutputCapture(options.maxOutputBytes), stderr: createOutputCapture(options.maxOutputBytes) };
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    // The outcome is kept rather than rejected: a handle that nobody awaits never becomes an unhandled rejection.
    void this.#pump();
  }

  /** Output so far; a character that is cut at a chunk boundary appears once it is whole. */
  get stdout(): string {
    return this.#captures.stdout.text;
  }

  /** As {@link CommandHandle.stdout}, for standard error. */
  get stderr(): string {
    return this.#captures.stderr.text;
  }

  /** Bytes that `stdout` and `stderr` leave out because of `maxOutputBytes`. */
  get truncatedBytes(): number {
    const { stdout, stderr } = this.#captures;
    return stdout.omittedBytes + stderr.omittedBytes;
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

  /** Send a POSIX signal, for example `"SIGINT"`, to the process and its group. False when the process was gone already. */
  sendSignal(signal: string, options?: RequestOptions): Promise<boolean> {
    return this.#actions.sendSignal(this.pid, signal, options);
  }

  /** Write to standard input, in the order of the calls; resolves when the process's pipe has taken it. */
  sendStdin(data: string | Uint8Array, options?: RequestOptions): Promise<void> {
    return this.#afterInput(() => this.#actions.sendStdin(this.pid, data, options));
  }

  /** Close standard input after what was written before, so that the process reads end-of-file. */
  closeStdin(options?: RequestOptions): Promise<void> {
    return this.#afterInput(() => this.#actions.closeStdin(this.pid, options));
  }

  /**
   * The output from the start of this handle, in order, until the process ends.
   *
   * Leaving the loop early disconnects. Ends without an error for any exit code; rejects where {@link CommandHandle.wait}
   * would not know the exit code. With `maxOutputBytes` it begins with what is still kept, and from then on the process waits for the loop.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Output, void, undefined> {
    let isComplete = false;
    try {
      for await (const entry of this.#window.read()) {
        if ("item" in entry) yield entry.item;
        else yield { type: "gap", missingBytes: entry.missingBytes } as Output; // both kinds of output have this member
      }
      isComplete = true;
      if (this.#ending !== undefined && "failure" in this.#ending) throw this.#ending.failure;
    } finally {
      if (!isComplete) await this.disconnect();
    }
  }

  get #isText(): boolean {
    return this.#options.format !== "bytes";
  }

  get #outcome(): CommandOutcome | undefined {
    return this.#ending !== undefined && "outcome" in this.#ending ? this.#ending.outcome : undefined;
  }

  async #pump(): Promise<void> {
    try {
      for await (const event of this.#stream.events) {
        const wait = event.type === "end" ? this.#complete(event) : this.#deliver(event);
        if (wait !== undefined) await wait;
      }
    } catch (failure) {
      this.#end({ failure });
      this.#stream.cancel(failure);
    }
  }

  #deliver(event: Exclude<ProcessEvent, ProcessEnd>): Promise<void> | undefined {
    switch (event.type) {
      case "gap":
        if (event.missingBytes === undefined) this.#outputMayBeIncomplete = true;
        else this.#missingBytes += event.missingBytes;
        return this.#pass(event, 0, this.#options.onGap, event);
      case "pty":
        return this.#pass(event, event.data.length, this.#options.onData, event.data);
      default: {
        const { type, data } = event;
        const text = this.#isText ? this.#decoders[type].decode(data, { stream: true }) : undefined;
        this.#captures[type].add(data, text);
        return text === undefined ? this.#pass(event, data.length, this.#callbackOf(type), data) : this.#passText(type, text, data.length);
      }
    }
  }

  async #complete(end: ProcessEnd): Promise<void> {
    for (const type of ["stdout", "stderr"] as const) {
      const text = this.#isText ? this.#decoders[type].decode() : undefined;
      this.#captures[type].end(text);
      if (text !== undefined) await this.#passText(type, text, 0);
    }
    const { stdout, stderr } = this.#captures;
    const { truncatedBytes } = this;
    this.#end({
      outcome: {
        exitCode: end.exitCode,
        ...(end.error !== undefined && { error: end.error }),
        stdout: stdout.text,
        stderr: stderr.text,
        ...(end.signal !== undefined && { signal: end.signal }),
        ...(end.isOutOfMemory && { isOutOfMemory: true }),
        ...(this.#missingBytes > 0 && { missingBytes: this.#missingBytes }),
        ...(this.#outputMayBeIncomplete && { outputMayBeIncomplete: true }),
        ...(truncatedBytes > 0 && { truncatedBytes }),
      },
    });
  }

  #passText(type: "stdout" | "stderr", text: string, sizeBytes: number): Promise<void> | undefined {
    return text === "" ? undefined : this.#pass({ type, text }, sizeBytes, this.#callbackOf(type), text);
  }

  /** Nothing is awaited, and so no turn of the event loop is lost, where nobody makes the process wait. */
  #pass<T>(
    item: CommandOutput | CommandBytes,
    sizeBytes: number,
    callback: OutputCallback<T> | undefined,
    output: T,
  ): Promise<void> | undefined {
    const room = this.#window.add(item as Output, sizeBytes); // `format` decides the class parameter and the items alike
    if (callback === undefined) return room;
    const called = runCallback(callback, output);
    return room === undefined ? called : called.then(() => room);
  }

  #callbackOf(type: "stdout" | "stderr"): OutputCallback<unknown> | undefined {
    // `format` decides what the callbacks take; the overloads of `commands` keep both together.
    return (type === "stdout" ? this.#options.onStdout : this.#options.onStderr) as OutputCallback<unknown> | undefined;
  }

  /** The first word counts: what the daemon reported stands, even where the connection breaks right after it. */
  #end(ending: Ending): void {
    this.#ending ??= ending;
    this.#finish();
    this.#window.end();
  }

  #afterInput(action: () => Promise<void>): Promise<void> {
    const result = this.#input.then(action, action);
    this.#input = result.catch(() => {});
    return result;
  }
}

async function runCallback<T>(callback: OutputCallback<T>, output: T): Promise<void> {
  try {
    await callback(output);
  } catch (thrown) {
    if (thrown instanceof Error) throw thrown;
    throw new InternalError("an output callback threw a value that is not an Error", { cause: thrown });
  }
}
