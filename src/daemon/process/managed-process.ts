import { InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import { reclaimBuffers } from "../../shared/reclaim-buffers-node.js";
import { startAwakeTimer } from "./awake-timer.js";
import type { ExitStatus } from "./exit-status.js";
import { InputLedger } from "./input-ledger.js";
import type { Launched, LaunchSink } from "./launch.js";
import { assertTerminalSize } from "./launch-terminal.js";
import type { OomCounter } from "./oom-counter.js";
import type { OutputCursor, OutputKind } from "./output-cursor.js";
import { OutputLog } from "./output-log.js";

/** The configuration that a process was started with, as its starter gave it. */
export interface ProcessDescription {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
  /** Name that no other process of the daemon ever has. */
  readonly startId: string;
  readonly hasTerminal: boolean;
}

export interface ManagedProcessOptions {
  readonly description: ProcessDescription;
  /** Memory for recent output, in bytes; asked at each use. */
  readonly logCapacityBytes: () => number;
  readonly oomCounter: OomCounter;
  /** Called once, when the process ended and its output is complete. */
  readonly onEnd: (process: ManagedProcess) => void;
}

/**
 * One process of the sandbox from its start to the end of its output.
 *
 * It belongs to no connection: readers come and go, its output goes to a bounded log, and it waits for no one when nobody reads.
 */
export class ManagedProcess implements LaunchSink {
  readonly description: ProcessDescription;
  readonly log: OutputLog;
  /** Input that carries an id. */
  readonly inputs = new InputLedger();
  readonly #onEnd: (process: ManagedProcess) => void;
  readonly #oomCounter: OomCounter;
  readonly #oomKillsBefore: number | undefined;
  #launched: Launched | undefined;
  #openSources = 0;
  #exit: ExitStatus | undefined;
  #isEnded = false;
  #isOutputAbandoned = false;
  #timeoutMs: number | undefined;
  #isTimedOut = false;
  #isKilledByUs = false;
  #isOutOfMemory = false;
  #inputBytes = 0;
  #cancelDeadline: (() => void) | undefined;

  constructor(options: ManagedProcessOptions) {
    this.description = options.description;
    this.#onEnd = options.onEnd;
    this.#oomCounter = options.oomCounter;
    this.#oomKillsBefore = options.oomCounter.read();
    this.log = new OutputLog({
      capacityBytes: options.logCapacityBytes,
      onFull: () => this.#eachSource("pause"),
      onSpace: () => this.#eachSource("resume"),
    });
  }

  /** Take over what the launcher started; its events may have begun to arrive. */
  attach(launched: Launched): void {
    this.#launched = launched;
    this.#openSources += launched.sources.length;
    this.#endIfComplete();
  }

  /** Id in the pid namespace of the sandbox. */
  get pid(): number {
    return this.#parts.pid;
  }

  /** How it ended; `undefined` until its output is complete too. */
  get exit(): ExitStatus | undefined {
    return this.#isEnded ? this.#exit : undefined;
  }

  /** Its deadline killed it. */
  get isTimedOut(): boolean {
    return this.#isTimedOut;
  }

  /** Milliseconds after which its deadline kills it; `undefined`: never. */
  get timeoutMs(): number | undefined {
    return this.#timeoutMs;
  }

  /** The kernel killed for want of memory while it ran, and it ended as what was killed does. */
  get isOutOfMemory(): boolean {
    return this.#isOutOfMemory;
  }

  /** Input bytes that it was given so far. */
  get inputBytes(): number {
    return this.#inputBytes;
  }

  /** Follow the output, by default from now on. Close the cursor when the reader is gone. */
  follow(fromOffset?: number): OutputCursor {
    return this.log.openCursor(fromOffset);
  }

  /** Kill the process group after `timeoutMs`, whoever is connected then. */
  setDeadline(timeoutMs: number): void {
    this.#timeoutMs = timeoutMs;
    this.#cancelDeadline = startAwakeTimer(timeoutMs, () => {
      this.#isTimedOut = true;
      try {
        this.signal("SIGKILL");
      } catch {
        // It ended in this moment.
      }
    });
  }

  /**
   * Signal the whole process group.
   *
   * Once it was told to end (SIGTERM, SIGKILL), nobody waits for output: its end is reported when the process is gone, also when a process
   * that left the group still holds the pipes.
   *
   * @throws {@link InternalError} the kernel refused the signal.
   */
  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL") this.#isKilledByUs = true;
    if (signal === "SIGKILL" || signal === "SIGTERM") this.#isOutputAbandoned = true;
    if (this.#exit !== undefined) {
      tryKill(-this.pid, signal);
      if (this.#isOutputAbandoned) this.#finishOutput();
      return;
    }
    // A process that was forked this instant may not lead its group yet.
    const failure = tryKill(-this.pid, signal) && tryKill(this.pid, signal);
    if (failure) throw new InternalError(`process ${this.pid} cannot be signalled (${failure})`);
  }

  /**
   * Feed the process; resolves when all bytes were delivered.
   *
   * @throws {@link InternalError} the input is of the wrong kind, disabled or closed.
   */
  async write(kind: "stdin" | "pty", bytes: Uint8Array): Promise<void> {
    if ((kind === "pty") !== this.description.hasTerminal) {
      throw new InternalError(
        kind === "pty"
          ? `process ${this.pid} has no terminal: send the input as stdin`
          : `process ${this.pid} has a terminal: send the input as pty`,
      );
    }
    const input = this.#parts.input;
    if (input === undefined) throw new InternalError(`process ${this.pid} was started without standard input (stdin: false)`);
    await input.write(bytes);
    this.#inputBytes += bytes.length;
  }

  /** End of file on standard input. Idempotent. */
  closeStdin(): void {
    this.#parts.input?.close();
  }

  /**
   * @throws {@link InvalidArgumentError} the size is out of range; {@link InternalError} there is no terminal.
   */
  resize(cols: number, rows: number): void {
    const resize = this.#parts.resize;
    if (resize === undefined) throw new InternalError(`process ${this.pid} has no terminal, so it has no size`);
    assertTerminalSize({ cols, rows });
    try {
      resize(cols, rows);
    } catch (cause) {
      throw new InternalError(`the terminal of process ${this.pid} cannot be resized`, { cause });
    }
  }

  onOutput(kind: OutputKind, bytes: Uint8Array): void {
    this.log.append(kind, bytes);
    // The log copied them, and forgets as many of before.
    reclaimBuffers(bytes.length);
  }

  onOutputEnd(): void {
    this.#openSources -= 1;
    this.#endIfComplete();
  }

  onExit(exit: ExitStatus): void {
    this.#exit = exit;
    const isKilled = exit.kind === "signaled" ? exit.signal === "SIGKILL" : exit.code === 137;
    if (isKilled && !this.#isKilledByUs) this.#isOutOfMemory = (this.#oomCounter.read() ?? 0) > (this.#oomKillsBefore ?? 0);
    if (this.#isOutputAbandoned) this.#finishOutput();
    this.#endIfComplete();
  }

  get #parts(): Launched {
    if (this.#launched === undefined) throw new InvalidArgumentError("the process has not started yet");
    return this.#launched;
  }

  #finishOutput(): void {
    for (const source of this.#launched?.sources ?? []) source.finishNow();
  }

  #eachSource(action: "pause" | "resume"): void {
    for (const source of this.#launched?.sources ?? []) source[action]();
  }

  #endIfComplete(): void {
    if (this.#isEnded || this.#launched === undefined || this.#exit === undefined || this.#openSources > 0) return;
    this.#isEnded = true;
    // Not before: a grandchild that holds the output open is bound by the deadline too.
    this.#cancelDeadline?.();
    this.#launched.input?.destroy();
    this.#onEnd(this);
    this.log.close();
  }
}

function tryKill(target: number, signal: NodeJS.Signals): string | undefined {
  try {
    process.kill(target, signal);
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : "unknown";
  }
}
