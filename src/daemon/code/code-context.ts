import { randomUUID } from "node:crypto";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { KernelBridge, KernelListener, KernelRun, KernelStart } from "./kernel-bridge.js";
import { assertVariables } from "./languages.js";

/** What a context needs from around it. */
export interface ContextParts {
  readonly bridge: KernelBridge;
  /** Start a kernel of this language in this directory. */
  startKernel(start: Pick<KernelStart, "name" | "cwd">, listener: KernelListener): Promise<number>;
  /** Variables of every process, as they are now. */
  sandboxVars(): ReadonlyMap<string, string>;
  /** How often the kernel of the machine killed for want of memory; `undefined` where that cannot be seen. */
  oomKills(): number | undefined;
}

/** Where the lines of one execution go. */
export interface Answer {
  write(line: Buffer): void;
  /** It is complete. */
  end(): void;
}

/** How an execution ends without its kernel's doing. */
export interface EndReason {
  readonly name: "UnexpectedEndOfExecution" | "ContextRestarting";
  readonly value: string;
}

interface Running {
  readonly run: number;
  readonly answer: Answer;
  readonly finish: () => void;
  hasError: boolean;
}

/** Times at which an execution that shall end is interrupted, in milliseconds. */
const INTERRUPTS_MS = [0, 500, 1_500];
/** When a kernel whose execution did not end is ended itself; a busy machine needs seconds to stop a cell. */
const GIVE_UP_MS = 10_000;

const ERROR_HEAD = Buffer.from('{"type":"error"');
const LOST = "its variables are lost, and the next execution starts anew";

/** Names executions of all contexts, for the bridge. */
let lastRun = 0;

/** One kernel with its state, and the executions that wait for it. */
export class CodeContext implements KernelListener {
  readonly id = randomUUID();
  readonly language: string;
  readonly cwd: string;
  readonly #parts: ContextParts;
  #kernel: Promise<number> | undefined;
  #number: number | undefined;
  /** Variables of the sandbox that the kernel has. */
  #known: ReadonlyMap<string, string> = new Map();
  #turn: Promise<void> = Promise.resolve();
  /** Executions that wait for their turn. */
  #waiting = 0;
  #oomKills: number | undefined;
  #running: Running | undefined;
  #isRemoved = false;
  #hasStarted = false;
  /** Said at the begin of the next execution: something was lost that its caller may count on. */
  #notice: string | undefined;

  constructor(language: string, cwd: string, parts: ContextParts) {
    this.language = language;
    this.cwd = cwd;
    this.#parts = parts;
  }

  /** True once a kernel of it answered. */
  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  get isAwaited(): boolean {
    return this.#waiting > 0;
  }

  /** Have a kernel; resolves when it answers. @throws {@link InvalidArgumentError} there is none for the language. */
  async ready(): Promise<void> {
    await this.#open();
  }

  /**
   * Run code when its turn comes. `begin` is called then, and returns where the lines go; resolves at the end of the execution.
   *
   * @param signal aborts when nobody waits for the execution any more.
   */
  async execute(code: string, envs: Readonly<Record<string, string>>, signal: AbortSignal, begin: () => Answer): Promise<void> {
    assertVariables(this.language, Object.keys(envs));
    const before = this.#turn;
    let leave = (): void => {};
    this.#turn = new Promise((resolve) => {
      leave = resolve;
    });
    this.#waiting += 1;
    try {
      await before.finally(() => {
        this.#waiting -= 1;
      });
      if (signal.aborted) return;
      let kernel = await this.#open();
      // It may have been restarted or have died while it was waited for.
      while (kernel !== this.#number && !signal.aborted) kernel = await this.#open();
      if (signal.aborted) return;
      await this.#run(kernel, code, envs, signal, begin());
    } finally {
      leave();
    }
  }

  /** Start anew, without the state. */
  async restart(): Promise<void> {
    this.#drop({ name: "ContextRestarting", value: "the context was restarted while the code ran" });
    await this.#open();
  }

  remove(): void {
    this.#isRemoved = true;
    this.#drop({ name: "UnexpectedEndOfExecution", value: "the context was removed while the code ran" });
  }

  /** Stop or go on reading output; the kernel waits meanwhile. */
  hold(isHeld: boolean): void {
    if (this.#number !== undefined) this.#parts.bridge.hold(this.#number, isHeld);
  }

  onLine(run: number, line: Buffer): void {
    if (this.#running?.run !== run) return;
    if (line.subarray(0, ERROR_HEAD.length).equals(ERROR_HEAD)) this.#running.hasError = true;
    this.#running.answer.write(line);
  }

  onDone(run: number, asksExit: boolean): void {
    if (this.#running?.run !== run) return;
    if (asksExit) {
      this.#drop({ name: "UnexpectedEndOfExecution", value: `the code asked the kernel to exit; ${LOST}` });
      this.#reopen();
    } else this.#finish();
  }

  onDied(how: string): void {
    this.#kernel = undefined;
    this.#number = undefined;
    const isOutOfMemory = how.includes("SIGKILL") && this.#parts.oomKills() !== this.#oomKills;
    const cause = isOutOfMemory ? `${how}, because the sandbox ran out of memory` : how;
    this.#finish({ name: "UnexpectedEndOfExecution", value: `the kernel ended: ${cause}; ${LOST}` });
    this.#reopen();
  }

  #open(): Promise<number> {
    if (this.#isRemoved) return Promise.reject(new FailedPreconditionError(`the context ${this.id} was removed`));
    if (this.#kernel !== undefined) return this.#kernel;
    this.#known = this.#parts.sandboxVars();
    this.#oomKills = this.#parts.oomKills();
    const starting = this.#parts.startKernel({ name: this.language, cwd: this.cwd }, this);
    this.#kernel = starting;
    starting.then(
      (number) => {
        this.#hasStarted = true;
        if (this.#kernel === starting) this.#number = number;
        else this.#parts.bridge.stop(number);
      },
      () => {
        if (this.#kernel === starting) this.#kernel = undefined;
      },
    );
    return starting;
  }

  /** A kernel that was lost is replaced at once, so that the next execution does not wait for it. */
  #reopen(): void {
    if (!this.#isRemoved) this.#open().catch(() => {});
  }

  async #run(kernel: number, code: string, envs: Readonly<Record<string, string>>, signal: AbortSignal, answer: Answer): Promise<void> {
    const run = ++lastRun;
    const timers: NodeJS.Timeout[] = [];
    const interrupt = () => {
      for (const afterMs of INTERRUPTS_MS) timers.push(setTimeout(() => this.#parts.bridge.interrupt(kernel), afterMs));
      timers.push(setTimeout(() => this.#giveUp(run), GIVE_UP_MS));
      this.hold(false);
    };
    await new Promise<void>((finish) => {
      this.#running = { run, answer, finish, hasError: false };
      if (this.#notice !== undefined) {
        answer.write(toLine({ type: "stderr", text: `${this.#notice}\n`, timestamp: new Date().toISOString() }));
        this.#notice = undefined;
      }
      const request: KernelRun = { run, code, envs, sandbox: this.#changedVars() };
      this.#parts.bridge.run(kernel, request);
      signal.addEventListener("abort", interrupt, { once: true });
    });
    signal.removeEventListener("abort", interrupt);
    for (const timer of timers) clearTimeout(timer);
  }

  #giveUp(run: number): void {
    if (this.#running?.run !== run) return;
    this.#notice = `an earlier execution did not stop when it was interrupted, so its kernel was ended; ${LOST}`;
    this.#drop({ name: "UnexpectedEndOfExecution", value: this.#notice });
    this.#reopen();
  }

  #drop(reason: EndReason): void {
    if (this.#number !== undefined) this.#parts.bridge.stop(this.#number);
    this.#kernel = undefined;
    this.#number = undefined;
    this.#finish(reason);
  }

  #finish(reason?: EndReason): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    if (reason !== undefined && !running.hasError) {
      const { name, value } = reason;
      running.answer.write(toLine({ type: "error", name, value, traceback: `${name}: ${value}` }));
    }
    running.answer.write(toLine({ type: "end_of_execution" }));
    running.answer.end();
    running.finish();
  }

  #changedVars(): KernelRun["sandbox"] {
    const now = this.#parts.sandboxVars();
    const set = Object.fromEntries([...now].filter(([name, value]) => this.#known.get(name) !== value));
    const unset = [...this.#known.keys()].filter((name) => !now.has(name));
    this.#known = now;
    return { set, unset };
  }
}

/** One line of an answer. */
export function toLine(line: object): Buffer {
  return Buffer.from(`${JSON.stringify(line)}\n`);
}
