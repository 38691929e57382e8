import { randomBytes } from "node:crypto";
import { assertTerminalSize, type TerminalSize } from "../daemon/process/launch-terminal.js";
import type { ManagedProcess } from "../daemon/process/managed-process.js";
import { killQuietly, type Programs } from "./programs.js";
import { RouteFailure } from "./route-failure.js";

/** One terminal. */
export interface TerminalSession {
  /** Random and long, so that it is the key to the terminal too. */
  readonly id: string;
  readonly process: ManagedProcess;
  /** Seconds since 1970. */
  readonly createdAt: number;
  size: TerminalSize;
  /** Output up to here was given to a connection. */
  deliveredOffset: number;
  connections: number;
  /** On the clock of `performance.now()`. */
  usedAtMs: number;
}

export interface TerminalSpec {
  readonly shell: string;
  readonly size: TerminalSize;
  readonly envs: Readonly<Record<string, string>>;
}

const MAX_SESSIONS = 10;
const IDLE_MS = 1_800_000;
const CHECK_MS = 30_000;
const ID_BYTES = 24;

/** The terminals of one server. */
export class TerminalSessions {
  readonly #programs: Programs;
  readonly #sessions = new Map<string, TerminalSession>();
  readonly #timer: NodeJS.Timeout;
  #opening = 0;

  constructor(programs: Programs) {
    this.#programs = programs;
    this.#timer = setInterval(() => this.#closeIdle(), CHECK_MS);
    this.#timer.unref();
  }

  /** @throws {@link RouteFailure} too many are open; InvalidArgumentError: the shell or the size cannot be. */
  async open({ shell, size, envs }: TerminalSpec): Promise<TerminalSession> {
    assertTerminalSize(size);
    this.#removeEnded();
    if (this.#sessions.size + this.#opening >= MAX_SESSIONS) {
      throw new RouteFailure(429, "RuntimeError", `${MAX_SESSIONS} terminals are open already; close one first`, "rate_limited");
    }
    this.#opening += 1;
    try {
      const process = await this.#programs.start({ words: [shell], envs: { TERM: "xterm-256color", ...envs }, terminal: size });
      const id = randomBytes(ID_BYTES).toString("hex");
      const session = { id, process, createdAt: Date.now() / 1000, size, deliveredOffset: 0, connections: 0, usedAtMs: performance.now() };
      this.#sessions.set(id, session);
      return session;
    } finally {
      this.#opening -= 1;
    }
  }

  /** Those whose shell runs, the oldest first. */
  list(): readonly TerminalSession[] {
    this.#removeEnded();
    return [...this.#sessions.values()];
  }

  find(id: string): TerminalSession | undefined {
    return this.#sessions.get(id);
  }

  /** Kill the shell and what it started. False when there is no such terminal. */
  close(id: string): boolean {
    const session = this.#sessions.get(id);
    if (session === undefined) return false;
    this.#sessions.delete(id);
    killQuietly(session.process);
    return true;
  }

  closeAll(): void {
    clearInterval(this.#timer);
    for (const id of [...this.#sessions.keys()]) this.close(id);
  }

  /** One that a connection follows stays, so that it can tell the end. */
  #removeEnded(): void {
    for (const { id, process, connections } of this.#sessions.values()) {
      if (process.exit !== undefined && connections === 0) this.#sessions.delete(id);
    }
  }

  #closeIdle(): void {
    for (const { id, connections, usedAtMs } of this.#sessions.values()) {
      if (connections === 0 && performance.now() - usedAtMs > IDLE_MS) this.close(id);
    }
  }
}
