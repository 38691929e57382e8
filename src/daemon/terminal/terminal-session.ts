import { randomBytes } from "node:crypto";
import { InvalidArgumentError, NotFoundError, RateLimitError } from "../../errors/error-classes.js";
import type { ManagedProcess } from "../process/managed-process.js";

/** The connection that has a session at the moment. */
export interface SessionHolder {
  /** More input was delivered. */
  onDelivered(): void;
  /** Input cannot be delivered. */
  onInputFailed(error: unknown): void;
  /** Another connection took the session over. */
  onReplaced(): void;
}

const MAX_UNDELIVERED_BYTES = 1024 * 1024;
const MAX_SESSIONS = 64;

/**
 * What one client types into one terminal, counted over all its connections: this is how a client that comes back knows what arrived.
 */
export class TerminalSession {
  readonly id: string;
  readonly #process: ManagedProcess;
  #holder: SessionHolder | undefined;
  #acceptedBytes = 0;
  #deliveredBytes = 0;

  constructor(process: ManagedProcess, id: string) {
    this.#process = process;
    this.id = id;
  }

  /** Bytes that are, or will be, delivered, in this order and once. */
  get acceptedBytes(): number {
    return this.#acceptedBytes;
  }

  /** Bytes that the kernel has. */
  get deliveredBytes(): number {
    return this.#deliveredBytes;
  }

  get isHeld(): boolean {
    return this.#holder !== undefined;
  }

  /** Give the session to a connection; the one that had it takes no more input, so its count is final. */
  hold(holder: SessionHolder): void {
    this.#holder?.onReplaced();
    this.#holder = holder;
  }

  release(holder: SessionHolder): void {
    if (this.#holder === holder) this.#holder = undefined;
  }

  /**
   * Type. With the offset of the bytes in the input of the session, those that were accepted already are left out.
   *
   * @throws {@link RateLimitError} the program does not read, and too much waits for it; {@link InvalidArgumentError} input before the offset
   * is missing.
   */
  write(data: Uint8Array, offset = this.#acceptedBytes): void {
    if (offset > this.#acceptedBytes) {
      throw new InvalidArgumentError(`input at ${offset}, but the session has only ${this.#acceptedBytes} bytes`);
    }
    const bytes = data.subarray(Math.min(data.length, this.#acceptedBytes - offset));
    if (bytes.length === 0) return;
    if (this.#acceptedBytes - this.#deliveredBytes + bytes.length > MAX_UNDELIVERED_BYTES) {
      throw new RateLimitError(`more than ${MAX_UNDELIVERED_BYTES} bytes of input wait: the program does not read them`);
    }
    this.#acceptedBytes += bytes.length;
    this.#process.write("pty", bytes).then(
      () => {
        this.#deliveredBytes += bytes.length;
        this.#holder?.onDelivered();
      },
      (error: unknown) => this.#holder?.onInputFailed(error),
    );
  }
}

/** The sessions of all terminals; those of a terminal that is forgotten go with it. */
export class TerminalSessions {
  readonly #byProcess = new WeakMap<ManagedProcess, Map<string, TerminalSession>>();

  /** The session of a name, made when there is none; without a name a new one. Of too many, the oldest without a connection is forgotten. */
  open(process: ManagedProcess, id = randomBytes(16).toString("base64url")): TerminalSession {
    const sessions = this.#byProcess.get(process) ?? new Map<string, TerminalSession>();
    this.#byProcess.set(process, sessions);
    const known = sessions.get(id);
    if (known !== undefined) return known;
    if (sessions.size >= MAX_SESSIONS) {
      for (const [oldId, session] of sessions) {
        if (session.isHeld) continue;
        sessions.delete(oldId);
        break;
      }
    }
    const session = new TerminalSession(process, id);
    sessions.set(id, session);
    return session;
  }

  /**
   * @throws {@link NotFoundError} the terminal has no such session: it is another terminal with the same pid, or the session was forgotten.
   */
  find(process: ManagedProcess, id: string): TerminalSession {
    const session = this.#byProcess.get(process)?.get(id);
    if (session === undefined) throw new NotFoundError(`terminal ${process.pid} has no such session: attach without it`);
    return session;
  }
}
