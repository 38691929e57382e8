import { existsSync } from "node:fs";
import { InvalidArgumentError, NotFoundError } from "../../errors/error-classes.js";
import { assertEnvironment, MAX_ARGUMENT_BYTES } from "../../shared/environment-check.js";
import { assertText } from "../../shared/text-check.js";
import type { LibcLoader } from "../native/libc.js";
import { resolvePath } from "../path-resolver.js";
import { loadPtyAddon, type PtyAddon } from "../pty-addon.js";
import type { User } from "../user-database.js";
import { processEnvironment } from "./environment.js";
import { assertWorkingDirectory, type LaunchPlan } from "./launch.js";
import { CommandLauncher } from "./launch-command.js";
import { assertTerminalSize, DEFAULT_TERMINAL_SIZE, launchTerminal, type TerminalSize } from "./launch-terminal.js";
import { ManagedProcess } from "./managed-process.js";
import { OomCounter } from "./oom-counter.js";
import { findProgram } from "./program-lookup.js";
import { StartIds } from "./start-ids.js";

/** The part of the daemon's state that new processes depend on. */
export interface ProcessContext {
  readonly envVars: ReadonlyMap<string, string>;
  /** Variables that give way to all others. */
  readonly defaultVars: ReadonlyMap<string, string>;
  readonly defaultWorkdir: string | undefined;
}

export interface StartOptions {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  /** Variables that tell the process its trace. Those of the request win, and a repetition may bring others. */
  readonly traceVars?: Readonly<Record<string, string>> | undefined;
  /** Unresolved; `undefined` is the default of the sandbox. */
  readonly cwd: string | undefined;
  readonly tag: string | undefined;
  /** Makes the start repeatable; without one, or with an empty one, nothing does. */
  readonly startId?: string | undefined;
  readonly user: User;
  /** An open pipe instead of /dev/null. Ignored with a terminal. */
  readonly hasStdin: boolean;
  /** Present: run it on a terminal; a missing size is 80x24. */
  readonly terminal: { readonly size: TerminalSize | undefined } | undefined;
  /** Milliseconds until the process is killed. `undefined`: never. */
  readonly timeoutMs: number | undefined;
}

/** How a request names a process. */
export type Selector =
  | { readonly case: "pid"; readonly value: number }
  | { readonly case: "tag"; readonly value: string }
  | { readonly case: "startId"; readonly value: string };

const EXIT_RETENTION_MS = 30_000;
const READ_BUFFER_BYTES = 64 * 1024;
/** Output that is kept in memory: for one process at most and at least, and for all of them together. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;
const MIN_LOG_BYTES = 128 * 1024;
const LOG_BUDGET_BYTES = 64 * 1024 * 1024;
const ENDED_LOGS_BUDGET_BYTES = 16 * 1024 * 1024;

/** All processes that this daemon started: the live ones, and for 30 seconds those that ended. */
export class ProcessRegistry {
  readonly #context: ProcessContext;
  readonly #readBuffer = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  readonly #live = new Map<number, ManagedProcess>();
  readonly #ended = new Map<number, ManagedProcess>();
  readonly #startIds = new StartIds();
  readonly #oomCounter = new OomCounter();
  readonly #retention = new Set<NodeJS.Timeout>();
  /** At least what the logs of ended processes hold; counted exactly when it passes the budget. */
  #endedLogBytes = 0;
  readonly #libc: LibcLoader;
  readonly #commands: CommandLauncher;
  #ptyAddon: PtyAddon | undefined;

  constructor(context: ProcessContext, libc: LibcLoader) {
    this.#context = context;
    this.#libc = libc;
    this.#commands = new CommandLauncher(libc, this.#readBuffer);
  }

  /** Prepare what makes the first start fast. */
  warmUp(): void {
    this.#commands.prepare();
  }

  /** Live processes, the oldest first. */
  list(): readonly ManagedProcess[] {
    return [...this.#live.values()];
  }

  /**
   * Start a process, or find the one that was started under the same id.
   *
   * @throws {@link InvalidArgumentError} the program, an argument or the working directory cannot be used; {@link AlreadyExistsError} the
   * id belongs to another start.
   */
  start(options: StartOptions): Promise<ManagedProcess> {
    const startId = options.startId || crypto.randomUUID();
    return this.#startIds.once(startId, options, () => this.#start({ ...options, startId }));
  }

  async #start(options: StartOptions & { readonly startId: string }): Promise<ManagedProcess> {
    const plan = this.#plan(options);
    const managed = new ManagedProcess({
      description: { ...options, hasTerminal: options.terminal !== undefined },
      logCapacityBytes: () => this.#logCapacity(),
      oomCounter: this.#oomCounter,
      onEnd: (process) => this.#retain(process),
    });
    if (options.terminal === undefined) {
      managed.attach(await this.#commands.launch(plan, options.hasStdin, managed));
    } else {
      this.#ptyAddon ??= loadPtyAddon(this.#libc);
      const size = options.terminal.size ?? DEFAULT_TERMINAL_SIZE;
      managed.attach(launchTerminal(plan, size, managed, this.#ptyAddon, this.#readBuffer));
    }
    this.#forgetEnded(managed);
    this.#live.set(managed.pid, managed);
    if (options.timeoutMs !== undefined) managed.setDeadline(options.timeoutMs);
    return managed;
  }

  /**
   * The live process that a selector names; of several with an equal tag the youngest.
   *
   * @throws {@link NotFoundError} there is none.
   */
  find(selector: Selector): ManagedProcess {
    const found = selector.case === "startId" ? this.#startIds.find(selector.value) : inMap(this.#live, selector);
    if (found === undefined || this.#live.get(found.pid) !== found) throw notFound(selector);
    return found;
  }

  /**
   * The process of a start that its client gives up: it is awaited while it is under way, and refused when it comes later.
   *
   * @throws {@link NotFoundError} there is none.
   */
  async giveUp(startId: string): Promise<ManagedProcess> {
    await this.#startIds.giveUp(startId);
    return this.find({ case: "startId", value: startId });
  }

  /**
   * As {@link find}, and also a process that ended at most 30 seconds ago.
   *
   * @throws {@link NotFoundError} there is none.
   */
  findRecent(selector: Selector): ManagedProcess {
    const found =
      selector.case === "startId" ? this.#startIds.find(selector.value) : (inMap(this.#live, selector) ?? inMap(this.#ended, selector));
    if (found === undefined) throw notFound(selector);
    return found;
  }

  /** Kill everything and free all resources. */
  async close(): Promise<void> {
    for (const process of this.#live.values()) {
      try {
        process.signal("SIGKILL");
      } catch {
        // It ended in this moment.
      }
    }
    for (const timer of this.#retention) clearTimeout(timer);
    this.#oomCounter.close();
    await this.#commands.close();
  }

  #plan(options: StartOptions): LaunchPlan {
    const { cmd, args, envs, user } = options;
    assertText("cmd", cmd);
    args.forEach((arg, index) => {
      assertText(`argument ${index + 1}`, arg);
      if (Buffer.byteLength(arg) > MAX_ARGUMENT_BYTES) {
        throw new InvalidArgumentError(
          `argument ${index + 1} of '${cmd}' has ${Buffer.byteLength(arg)} bytes, above the size limit of ${MAX_ARGUMENT_BYTES} for one argument: pass it in a file or through stdin`,
        );
      }
    });
    assertEnvironment(Object.entries(envs));
    assertText("cwd", options.cwd ?? "");
    assertText("tag", options.tag ?? "");
    if (options.terminal?.size !== undefined) assertTerminalSize(options.terminal.size);
    const cwd = this.#workingDirectory(options);
    const requestVars = Object.entries({ ...options.traceVars, ...envs });
    const env = processEnvironment(user, this.#context.envVars, requestVars, this.#context.defaultVars);
    return { file: findProgram(cmd, env.get("PATH"), cwd), argv0: cmd, args, env, cwd, user };
  }

  #workingDirectory(options: StartOptions): string {
    const cwd = resolvePath(options.cwd ?? "", options.user, this.#context);
    // An account such as `nobody` has no home directory; who did not ask for one starts at the root.
    if (!options.cwd && cwd === options.user.home && !existsSync(cwd)) return "/";
    assertWorkingDirectory(cwd);
    return cwd;
  }

  #logCapacity(): number {
    return Math.min(MAX_LOG_BYTES, Math.max(MIN_LOG_BYTES, Math.floor(LOG_BUDGET_BYTES / Math.max(1, this.#live.size))));
  }

  #retain(process: ManagedProcess): void {
    if (this.#live.get(process.pid) === process) this.#live.delete(process.pid);
    this.#ended.delete(process.pid);
    this.#ended.set(process.pid, process);
    this.#endedLogBytes += process.log.heldBytes;
    if (this.#endedLogBytes > ENDED_LOGS_BUDGET_BYTES) this.#discardOldestLogs();
    const timer = setTimeout(() => {
      this.#retention.delete(timer);
      if (this.#ended.get(process.pid) === process) this.#ended.delete(process.pid);
      this.#startIds.forget(process.description.startId, process);
    }, EXIT_RETENTION_MS);
    timer.unref();
    this.#retention.add(timer);
  }

  /** The exits stay for their time, the output of the oldest goes first. */
  #discardOldestLogs(): void {
    const processes = [...this.#ended.values()];
    this.#endedLogBytes = processes.reduce((sum, process) => sum + process.log.heldBytes, 0);
    for (const { log } of processes) {
      if (this.#endedLogBytes <= ENDED_LOGS_BUDGET_BYTES / 2) return;
      this.#endedLogBytes -= log.heldBytes;
      log.discard();
      this.#endedLogBytes += log.heldBytes;
    }
  }

  #forgetEnded(started: ManagedProcess): void {
    this.#ended.delete(started.pid);
    const { tag } = started.description;
    if (tag === undefined) return;
    for (const [pid, process] of this.#ended) if (process.description.tag === tag) this.#ended.delete(pid);
  }
}

function inMap(
  processes: ReadonlyMap<number, ManagedProcess>,
  selector: Exclude<Selector, { case: "startId" }>,
): ManagedProcess | undefined {
  if (selector.case === "pid") return processes.get(selector.value);
  let found: ManagedProcess | undefined;
  for (const process of processes.values()) if (process.description.tag === selector.value) found = process;
  return found;
}

function notFound(selector: Selector): NotFoundError {
  const name = selector.case === "pid" ? `pid ${selector.value}` : `${selector.case === "tag" ? "tag" : "start_id"} '${selector.value}'`;
  return new NotFoundError(`process with ${name} not found`, undefined, "process_not_found");
}
