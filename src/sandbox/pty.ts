import { FailedPreconditionError, InvalidArgumentError, UnimplementedError } from "../errors/error-classes.js";
import type { ProcessClient, PtySize } from "../protocol/process-client.js";
import type { TerminalClient, TerminalSpec } from "../protocol/terminal-client.js";
import type { TerminalStream } from "../protocol/terminal-stream.js";
import { assertText } from "../shared/text-check.js";
import { checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import type { OutputCallback, OutputGap } from "./command-handle.js";
import { checkEnvs, checkPid, checkUser } from "./options.js";
import { type PtyActions, PtySession } from "./pty-session.js";

/** How a terminal is opened. */
export interface PtyCreateOptions extends RequestOptions, PtySize {
  /** A line for `bash -l`; the terminal ends with it. @defaultValue an interactive login shell */
  readonly command?: string | undefined;
  /** Called with the raw output, in order and awaited. */
  readonly onData?: OutputCallback<Uint8Array> | undefined;
  /** Called where output is missing because a connection broke for too long. */
  readonly onGap?: OutputCallback<OutputGap> | undefined;
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
  /** Called where output is missing because a connection broke for too long, or is older than what the daemon keeps. */
  readonly onGap?: OutputCallback<OutputGap> | undefined;
  /** First wanted byte of the output, counted from the start of the terminal. Only on a daemon of ours. @defaultValue what comes next */
  readonly fromOffset?: number | undefined;
  /** Milliseconds until the following ends; the terminal goes on. `0` never. @defaultValue 60_000 */
  readonly timeoutMs?: number | undefined;
}

/** Which terminal a page may open. */
export interface PtyUrlOptions extends RequestOptions {
  /** The only origin whose pages may use it, such as `https://app.example.org`. @defaultValue any */
  readonly origin?: string | undefined;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_ENVS = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
/** The kernel keeps window sizes in 16 bits. */
const MAX_SIZE = 65_535;
/** What a terminal reads as the end of input. */
const END_OF_TRANSMISSION = new Uint8Array([4]);

/** The wires to the terminals of one sandbox. */
export interface PtyWires {
  readonly processes: ProcessClient;
  /** WebSockets; `undefined` where the daemon is not ours. */
  readonly terminals: TerminalClient | undefined;
}

/** Terminals of one sandbox. */
export class Pty {
  readonly #wires: PtyWires;
  /** Those with a WebSocket of ours, by pid: the shortest way for input. */
  readonly #open = new Map<number, TerminalStream>();

  /** @internal */
  constructor(wires: PtyWires) {
    this.#wires = wires;
  }

  /**
   * Open an interactive login shell, or run a command, in a terminal. It outlives the connection.
   *
   * @throws {@link InvalidArgumentError} the size or the directory is not possible; {@link AuthenticationError} there is no such user.
   */
  async create(options: PtyCreateOptions): Promise<PtySession> {
    const { processes, terminals } = this.#wires;
    const spec = toSpec(options);
    const { signal, requestTimeoutMs } = options;
    const call = { signal, requestTimeoutMs, timeoutMs: toTimeoutMs(options), operation: "pty.create", acceptsGaps: true };
    if (terminals === undefined) return new PtySession(await processes.start(spec, call), this.#actions, options);
    return this.#follow(await terminals.start(spec, call), options);
  }

  /**
   * Follow a running terminal: output from now on, or from an offset.
   *
   * @throws {@link NotFoundError} there is no such terminal; {@link UnimplementedError} `fromOffset`, on a daemon that is not ours.
   */
  async connect(pid: number, options: PtyConnectOptions = {}): Promise<PtySession> {
    const { processes, terminals } = this.#wires;
    const { signal, requestTimeoutMs, fromOffset } = options;
    if (fromOffset !== undefined && !(Number.isSafeInteger(fromOffset) && fromOffset >= 0)) {
      throw new InvalidArgumentError(`fromOffset must be a whole number of at least 0, not ${String(fromOffset)}`);
    }
    const call = { signal, requestTimeoutMs, timeoutMs: toTimeoutMs(options), operation: "pty.connect", acceptsGaps: true };
    if (terminals !== undefined) return this.#follow(await terminals.attach(checkPid(pid), { ...call, fromOffset }), options);
    if (fromOffset !== undefined) throw new UnimplementedError("pty.connect: this daemon keeps no output, so fromOffset cannot be used");
    return new PtySession(await processes.attach(checkPid(pid), call), this.#actions, options);
  }

  /**
   * Type into a terminal; resolves when the terminal has it. Each byte is delivered at most once.
   *
   * @throws {@link NotFoundError} there is no such terminal.
   */
  async sendInput(pid: number, data: string | Uint8Array, options: RequestOptions = {}): Promise<void> {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    const open = this.#open.get(pid);
    const operation = "pty.sendInput";
    if (open === undefined) await this.#wires.processes.sendInput(checkPid(pid), "pty", bytes, { ...options, operation });
    else await open.sendInput(bytes, { ...options, operation });
  }

  /**
   * Change the window size.
   *
   * @throws {@link InvalidArgumentError} a side is not between 1 and 65535; {@link NotFoundError} the terminal ended.
   */
  async resize(pid: number, size: PtySize, options: RequestOptions = {}): Promise<void> {
    const checked = checkSize(size);
    const open = this.#open.get(pid);
    const operation = "pty.resize";
    if (open === undefined) await this.#wires.processes.resize(checkPid(pid), checked, { ...options, operation });
    else await open.resize(checked, { ...options, operation });
  }

  /** End a terminal with SIGKILL. False when it was gone already. */
  async kill(pid: number, options: RequestOptions = {}): Promise<boolean> {
    return this.#wires.processes.kill(checkPid(pid), { ...options, operation: "pty.kill" });
  }

  /**
   * A URL that a page opens as WebSocket, once and within a minute, to use a terminal: a running one by its pid, or a new one. The page needs
   * nothing else, so treat the URL as a secret. The frames are described in `openapi/terminals.yaml`.
   *
   * @throws {@link FailedPreconditionError} the daemon is not ours; {@link NotFoundError} there is no such terminal.
   */
  async webSocketUrl(target: number | PtyCreateOptions, options: PtyUrlOptions = {}): Promise<string> {
    const { terminals } = this.#wires;
    if (terminals === undefined) throw new FailedPreconditionError("pty.webSocketUrl: this daemon has no terminals over WebSocket");
    const { origin, signal, requestTimeoutMs } = options;
    const call = { signal, requestTimeoutMs, operation: "pty.webSocketUrl" };
    if (typeof target === "number") return terminals.ticketUrl({ target: { pid: checkPid(target) }, origin }, call);
    return terminals.ticketUrl({ target: { start: toSpec(target), timeoutMs: toTimeoutMs(target) }, origin }, call);
  }

  #follow(stream: TerminalStream, options: PtyCreateOptions | PtyConnectOptions): PtySession {
    const { pid } = stream;
    this.#open.set(pid, stream);
    const session = new PtySession(stream, this.#actionsOn(stream), options);
    const forget = () => {
      if (this.#open.get(pid) === stream) this.#open.delete(pid);
    };
    session.waitForOutcome().then(forget, forget);
    return session;
  }

  /** A session types over its own connection, also where another session follows the same terminal. */
  #actionsOn(stream: TerminalStream): PtyActions {
    const sendStdin: PtyActions["sendStdin"] = (_pid, data, options = {}) =>
      stream.sendInput(typeof data === "string" ? new TextEncoder().encode(data) : data, { ...options, operation: "pty.sendInput" });
    return {
      ...this.#actions,
      sendStdin,
      closeStdin: (pid, options) => sendStdin(pid, END_OF_TRANSMISSION, options),
      resize: async (_pid, size, options = {}) => stream.resize(checkSize(size), { ...options, operation: "pty.resize" }),
    };
  }

  readonly #actions: PtyActions = {
    kill: (pid, options) => this.kill(pid, options),
    sendSignal: (pid, signal, options = {}) =>
      this.#wires.processes.sendSignal(checkPid(pid), signal, { ...options, operation: "pty.sendSignal" }),
    sendStdin: (pid, data, options) => this.sendInput(pid, data, options),
    closeStdin: (pid, options) => this.sendInput(pid, END_OF_TRANSMISSION, options),
    resize: (pid, size, options) => this.resize(pid, size, options),
  };
}

function toSpec(options: PtyCreateOptions): TerminalSpec {
  const { command } = options;
  if (options.cwd !== undefined) assertText("cwd", options.cwd);
  if (command !== undefined) assertText("command", command);
  return {
    cmd: "/bin/bash",
    args: command === undefined ? ["-i", "-l"] : ["-l", "-c", command],
    envs: { ...DEFAULT_ENVS, ...checkEnvs(options.envs) },
    cwd: options.cwd,
    user: checkUser(options.user),
    pty: checkSize(options),
  };
}

function toTimeoutMs(options: { readonly timeoutMs?: number | undefined }): number {
  return checkTimeoutMs("timeoutMs", options.timeoutMs) ?? DEFAULT_TIMEOUT_MS;
}

function checkSize({ cols, rows }: PtySize): PtySize {
  for (const [name, value] of Object.entries({ cols, rows })) {
    if (!Number.isInteger(value) || value < 1 || value > MAX_SIZE) {
      throw new InvalidArgumentError(`${name} must be a whole number between 1 and ${MAX_SIZE}, not ${String(value)}`);
    }
  }
  return { cols, rows };
}
