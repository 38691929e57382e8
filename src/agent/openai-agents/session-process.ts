import type { CommandHandle, CommandResult } from "../../sandbox/command-handle.js";
import { createOutputDecoder } from "../../sandbox/output-capture.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { startLongTimer } from "../../shared/long-timer.js";
import { exitStatusOf } from "../exit-status.js";
import { describeMissingOutput } from "../missing-output.js";
import { RecentOutput } from "./recent-output.js";

/** How a process of a session is started. */
export interface ProcessSpec {
  /** A line for `bash -l`. */
  readonly line: string;
  readonly cwd: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  /** Give it a terminal. */
  readonly tty: boolean;
}

/** What a process wrote since it was last asked. */
export interface TakenOutput {
  /** Both streams, in the order in which they came. */
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
}

type Outputs = Readonly<Record<keyof TakenOutput, RecentOutput>>;

/** Size of terminals; wide enough that programs do not break lines. */
const TERMINAL = { cols: 120, rows: 40 } as const;
/** What a terminal sends for Ctrl-C. */
const INTERRUPT = "\u0003";

/** A command that a model may look at more than once. */
export class SessionProcess {
  readonly #handle: CommandHandle;
  readonly #isTerminal: boolean;
  readonly #outputs: Outputs;
  /** Settles, without a value, when it has ended and all its output is here. */
  readonly #ended: Promise<void>;
  #end: { readonly result: CommandResult } | { readonly failure: unknown } | undefined;

  private constructor(handle: CommandHandle, isTerminal: boolean, outputs: Outputs) {
    this.#handle = handle;
    this.#isTerminal = isTerminal;
    this.#outputs = outputs;
    this.#ended = handle.waitForOutcome().then(
      (result) => {
        this.#end = { result };
        for (const note of notesOn(result)) outputs.output.add(`\n[${note}]`);
      },
      (failure: unknown) => {
        this.#end = { failure };
      },
    );
  }

  /** Start it; it runs until it ends or is killed. */
  static async start(sandbox: Sandbox, { line, cwd, envs, user, tty }: ProcessSpec): Promise<SessionProcess> {
    const outputs = { output: new RecentOutput(), stdout: new RecentOutput(), stderr: new RecentOutput() };
    const take = (stream: "stdout" | "stderr") => (text: string) => {
      outputs.output.add(text);
      outputs[stream].add(text);
    };
    const spec = { cwd, envs, user, timeoutMs: 0 };
    if (!tty) {
      const callbacks = { onStdout: take("stdout"), onStderr: take("stderr"), maxOutputBytes: 0 };
      return new SessionProcess(await sandbox.commands.start(line, { ...spec, ...callbacks, stdin: true }), false, outputs);
    }
    const decoder = createOutputDecoder();
    const takeText = take("stdout");
    const onData = (data: Uint8Array) => takeText(decoder.decode(data, { stream: true }));
    return new SessionProcess(await sandbox.pty.create({ ...spec, ...TERMINAL, command: line, onData }), true, outputs);
  }

  /** Wait for its end, or for a time. */
  async settle(maxMs: number): Promise<void> {
    if (this.#end !== undefined) return;
    let cancel = (): void => {};
    const over = new Promise<void>((resolve) => {
      cancel = startLongTimer(maxMs, resolve);
    });
    await Promise.race([this.#ended, over]);
    cancel();
  }

  /**
   * Exit code once it has ended, as a shell gives it.
   *
   * @throws what broke, where it is not known how the process ended.
   */
  get exitCode(): number | undefined {
    if (this.#end === undefined) return undefined;
    if ("failure" in this.#end) throw this.#end.failure;
    return exitStatusOf(this.#end.result);
  }

  /** What it wrote since the last call. */
  take(): TakenOutput {
    const { output, stdout, stderr } = this.#outputs;
    return { output: output.take(), stdout: stdout.take(), stderr: stderr.take() };
  }

  /** Type. Where there is no terminal that turns Ctrl-C into a signal, it is sent as one. */
  async write(text: string): Promise<void> {
    const typed = this.#isTerminal ? text : text.replaceAll(INTERRUPT, "");
    if (typed.length < text.length) await this.#handle.sendSignal("SIGINT");
    if (typed !== "") await this.#handle.sendStdin(typed);
  }

  /** Kill it where it still runs, without waiting. */
  abandon(): void {
    this.#handle.kill().catch(() => {});
  }

  /** Kill it, and wait for its end. */
  async kill(): Promise<void> {
    if (this.#end !== undefined) return;
    await this.#handle.kill();
    await this.#ended;
  }
}

/** What a model should know of an end beside the exit code. */
function notesOn(result: CommandResult): string[] {
  const missing = describeMissingOutput(result);
  return [
    ...(result.isOutOfMemory ? ["it was killed because the sandbox ran out of memory"] : []),
    ...(missing === undefined ? [] : [missing]),
  ];
}
