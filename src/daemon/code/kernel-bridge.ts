import { type ChildProcess, spawn } from "node:child_process";
import { InternalError, InvalidArgumentError } from "../../errors/error-classes.js";
import type { SandboxError } from "../../errors/sandbox-error.js";
import { preferForOom } from "../process/launch.js";
import { switchUser } from "../process/user-switch.js";
import type { User } from "../user-database.js";
import { LineCutter } from "./bridge-lines.js";
import type { KernelHost } from "./kernel-host.js";

/** A kernel to start. */
export interface KernelStart {
  /** Name of a language of ours or of a kernelspec. */
  readonly name: string;
  readonly cwd: string;
  readonly envs: ReadonlyMap<string, string>;
}

/** What happens to the kernel of one context. */
export interface KernelListener {
  /** Lines of the answer to the execution under way, each with its line end. */
  onLine(run: number, line: Buffer): void;
  onDone(run: number, asksExit: boolean): void;
  /** It ended, and nothing comes any more; `how` is a clause such as `it was killed by SIGKILL`. */
  onDied(how: string): void;
}

/** An execution for a kernel that runs. */
export interface KernelRun {
  readonly run: number;
  readonly code: string;
  readonly envs: Readonly<Record<string, string>>;
  /** Variables of the whole sandbox that changed since the kernel learned them. */
  readonly sandbox: { readonly set: Readonly<Record<string, string>>; readonly unset: readonly string[] };
}

interface Entry {
  readonly listener: KernelListener;
  readonly resolve: () => void;
  readonly reject: (error: SandboxError) => void;
  pid: number | undefined;
}

type BridgeEvent =
  | { readonly event: "started"; readonly kernel: number; readonly pid: number }
  | { readonly event: "failed"; readonly kernel: number; readonly message: string; readonly isUnknown: boolean }
  | { readonly event: "done"; readonly kernel: number; readonly run: number; readonly asksExit: boolean }
  | { readonly event: "died"; readonly kernel: number; readonly status: string };

const KEPT_ERROR_CHARACTERS = 2_000;
const SPACE = 0x20;
const LINE_END = Buffer.from("\n");

/** The program that runs kernels: started when a kernel is wanted, and again when it died. */
export class KernelBridge {
  readonly #entries = new Map<number, Entry>();
  readonly #runs = new Map<number, number>();
  #child: ChildProcess | undefined;
  #lastKernel = 0;

  /**
   * Start a kernel; resolves to its number when it answers.
   *
   * @throws {@link InvalidArgumentError} no kernel has this name; {@link InternalError} it does not start.
   */
  async start(start: KernelStart, host: KernelHost, user: User, listener: KernelListener): Promise<number> {
    this.#child ??= this.#open(host, user, start.envs);
    const kernel = ++this.#lastKernel;
    await new Promise<void>((resolve, reject) => {
      this.#entries.set(kernel, { listener, resolve, reject, pid: undefined });
      this.#send({ op: "start", kernel, name: start.name, cwd: start.cwd, envs: Object.fromEntries(start.envs) });
    });
    return kernel;
  }

  run(kernel: number, run: KernelRun): void {
    this.#runs.set(run.run, kernel);
    this.#send({ op: "run", kernel, ...run });
  }

  interrupt(kernel: number): void {
    this.#send({ op: "interrupt", kernel });
  }

  /** Stop or go on reading the output of a kernel, which then waits. */
  hold(kernel: number, isHeld: boolean): void {
    this.#send({ op: isHeld ? "hold" : "go", kernel });
  }

  /** End a kernel; its listener hears nothing more. */
  stop(kernel: number): void {
    this.#entries.delete(kernel);
    this.#send({ op: "stop", kernel });
  }

  close(): void {
    for (const { pid } of this.#entries.values()) killGroup(pid);
    this.#entries.clear();
    this.#child?.kill("SIGKILL");
  }

  #open({ python, bridge }: KernelHost, user: User, envs: ReadonlyMap<string, string>): ChildProcess {
    // Variables of the sandbox are for kernels; those that are for Python must not change the program that runs them.
    const { file, args, env, ids } = switchUser({ file: python, args: ["-E", "-B", bridge], env: envs, user }, true);
    const child = spawn(file, args, {
      ...ids,
      cwd: "/",
      env: Object.fromEntries(env),
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
    });
    let said = "";
    const cutter = new LineCutter((line) => this.#take(line));
    child.stdout.on("data", (chunk: Buffer) => cutter.push(chunk));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-KEPT_ERROR_CHARACTERS);
    });
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on("error", () => {});
    const end = (how: string) => this.#end(child, how, said.trim());
    child.once("error", (error) => end(error.message));
    child.once("close", (code, signal) => end(signal === null ? `it ended with status ${code}` : `it was killed by ${signal}`));
    if (child.pid !== undefined) preferForOom(child.pid);
    return child;
  }

  #take(line: Buffer): void {
    if (line[0] === 0x6f) {
      const end = line.indexOf(SPACE, 2);
      const run = Number(line.toString("latin1", 2, end));
      const kernel = this.#runs.get(run);
      const entry = kernel === undefined ? undefined : this.#entries.get(kernel);
      entry?.listener.onLine(run, Buffer.concat([line.subarray(end + 1), LINE_END]));
      return;
    }
    const event = JSON.parse(line.toString("utf8", 2)) as BridgeEvent; // the bridge is ours
    const entry = this.#entries.get(event.kernel);
    if (event.event === "done") this.#runs.delete(event.run);
    if (entry === undefined) return;
    switch (event.event) {
      case "started":
        entry.pid = event.pid;
        preferForOom(event.pid);
        entry.resolve();
        break;
      case "failed":
        this.#entries.delete(event.kernel);
        entry.reject(event.isUnknown ? new InvalidArgumentError(event.message) : new InternalError(event.message));
        break;
      case "done":
        entry.listener.onDone(event.run, event.asksExit);
        break;
      case "died":
        this.#entries.delete(event.kernel);
        entry.listener.onDied(event.status);
    }
  }

  /** All kernels end with the program that runs them. */
  #end(child: ChildProcess, how: string, said: string): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    this.#runs.clear();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { listener, pid, reject } of entries) {
      killGroup(pid);
      if (pid === undefined) reject(new InternalError(`the program that runs kernels failed: ${how}${said === "" ? "" : `:\n${said}`}`));
      else listener.onDied(`the program that runs it is gone (${how})`);
    }
  }

  #send(command: object): void {
    this.#child?.stdin?.write(`${JSON.stringify(command)}\n`);
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It ended already.
  }
}
