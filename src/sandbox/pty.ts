import { InvalidArgumentError } from "../errors/error-classes.js";
import type { ProcessClient, PtySize } from "../protocol/process-client.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import { CommandHandle, type HandleActions, type OutputCallback } from "./command-handle.js";
import { checkEnvs, checkPid, checkUser } from "./options.js";

/** How a terminal is opened. */
export interface PtyCreateOptions extends RequestOptions, PtySize {
  /** Called with the raw output, in order and awaited. */
  readonly onData?: OutputCallback<Uint8Array> | undefined;
  /** @defaultValue the template's user */
  readonly user?: string | undefined;
  /** @defaultValue the template's directory, else the user's home */
  readonly cwd?: string | undefined;
  /** Over `TERM=xterm-256color`, `LANG=C.UTF-8` and `LC_ALL=C.UTF-8`. */
  readonly envs?: Readonly<Record<string, string | undefined>> | undefined;
  /** Milliseconds until the daemon ends the terminal; `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
}

/** How a running terminal is followed. */
export interface PtyConnectOptions extends RequestOptions {
  readonly onData?: OutputCallback<Uint8Array> | undefined;
  /** Milliseconds until the following ends; the terminal goes on. `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_ENVS = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
/** The kernel keeps window sizes in 16 bits. */
const MAX_SIZE = 65_535;
/** What a terminal reads as the end of input. */
const END_OF_TRANSMISSION = new Uint8Array([4]);

/** Terminals of one sandbox. */
export class Pty {
  readonly #processes: ProcessClient;

  constructor(processes: ProcessClient) {
    this.#processes = processes;
  }

  /** Open an interactive login shell in a terminal. It outlives the connection. */
  async create(options: PtyCreateOptions): Promise<CommandHandle> {
    const size = checkSize(options);
    if (options.cwd !== undefined) assertText("cwd", options.cwd);
    const { signal, requestTimeoutMs, cwd } = options;
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const stream = await this.#processes.start(
      {
        cmd: "/bin/bash",
        args: ["-i", "-l"],
        envs: { ...DEFAULT_ENVS, ...checkEnvs(options.envs) },
        cwd,
        user: checkUser(options.user),
        pty: size,
      },
      { signal, requestTimeoutMs, timeoutMs, operation: "pty.create", acceptsGaps: true },
    );
    return new CommandHandle(stream, this.#actions, { onData: options.onData });
  }

  /** Follow a running terminal: output from now on. */
  async connect(pid: number, options: PtyConnectOptions = {}): Promise<CommandHandle> {
    const timeoutMs = checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
    const { signal, requestTimeoutMs } = options;
    const stream = await this.#processes.attach(checkPid(pid), {
      signal,
      requestTimeoutMs,
      timeoutMs,
      operation: "pty.connect",
      acceptsGaps: true,
    });
    return new CommandHandle(stream, this.#actions, { onData: options.onData });
  }

  /** Type into a terminal. Delivered at most once: never sent again. */
  async sendInput(pid: number, data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    await this.#processes.sendInput(checkPid(pid), "pty", bytes, { ...options, operation: "pty.sendInput" });
  }

  /** Change the window size. @throws {@link NotFoundError} the terminal ended. */
  async resize(pid: number, size: PtySize, options: RequestOptions = {}): Promise<void> {
    await this.#processes.resize(checkPid(pid), checkSize(size), { ...options, operation: "pty.resize" });
  }

  /** End a terminal with SIGKILL. False when it was gone already. */
  async kill(pid: number, options: RequestOptions = {}): Promise<boolean> {
    return this.#processes.kill(checkPid(pid), { ...options, operation: "pty.kill" });
  }

  readonly #actions: HandleActions = {
    kill: (pid, options) => this.kill(pid, options),
    sendSignal: (pid, signal, options = {}) =>
      this.#processes.sendSignal(checkPid(pid), signal, { ...options, operation: "pty.sendSignal" }),
    sendStdin: (pid, data, options) => this.sendInput(pid, data, options),
    closeStdin: (pid, options) => this.sendInput(pid, END_OF_TRANSMISSION, options),
  };
}

function checkSize({ cols, rows }: PtySize): PtySize {
  for (const [name, value] of Object.entries({ cols, rows })) {
    if (!Number.isInteger(value) || value < 1 || value > MAX_SIZE) {
      throw new InvalidArgumentError(`${name} must be a whole number between 1 and ${MAX_SIZE}, not ${String(value)}`);
    }
  }
  return { cols, rows };
}
