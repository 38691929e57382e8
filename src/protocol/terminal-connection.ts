import type { components } from "../../gen/openapi/terminals.js";
import { ConnectionError, ProtocolError } from "../errors/error-classes.js";
import { errorFromReason } from "../errors/error-from-reason.js";
import { isErrorReason } from "../errors/reason.js";
import type { SandboxError } from "../errors/sandbox-error.js";
import { isBytes } from "../shared/is-bytes.js";
import type { WebSocketConnection, WebSocketHandlers } from "../transport/websocket.js";
import { SILENCE_MS } from "./stream-life.js";

type Schemas = components["schemas"];
export type ServerFrame = Schemas["ServerFrame"];
export type ClientFrame = Schemas["ClientFrame"];
export type ReadyFrame = Schemas["ReadyFrame"];
export type ExitFrame = Schemas["ExitFrame"];

/** What one connection brings, after `ready`. */
export interface TerminalEvents {
  onOutput(bytes: Uint8Array): void;
  onFrame(frame: Exclude<ServerFrame, { readonly type: "ready" | "exit" | "error" | "pong" }>): void;
  /** The terminal ended, or the connection did; once. */
  onEnd(end: ExitFrame | SandboxError): void;
}

/** One WebSocket on one terminal, as frames of the contract. */
export class TerminalConnection implements WebSocketHandlers {
  readonly #operation: string;
  readonly ready: Promise<ReadyFrame>;
  #resolveReady: (frame: ReadyFrame) => void = () => {};
  #rejectReady: (error: unknown) => void = () => {};
  #socket: WebSocketConnection | undefined;
  #events: TerminalEvents | undefined;
  #pending: (() => void)[] = [];
  #isOver = false;
  #heardAtMs = performance.now();
  #pingTimer: ReturnType<typeof setInterval> | undefined;

  constructor(operation: string) {
    this.#operation = operation;
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve;
      this.#rejectReady = reject;
    });
    // Whoever opens the connection may fail before it looks at this.
    this.ready.catch(() => {});
  }

  /** The socket is open. */
  attach(socket: WebSocketConnection): void {
    this.#socket = socket;
    if (this.#isOver) socket.drop();
    else this.#pingTimer = setInterval(() => this.#ping(), SILENCE_MS / 3);
  }

  /** Hand what came after `ready`, and what comes, to `events`. */
  listen(events: TerminalEvents): void {
    this.#events = events;
    for (const deliver of this.#pending.splice(0)) deliver();
  }

  send(frame: ClientFrame | Uint8Array): void {
    if (!this.#isOver) this.#socket?.send(isBytes(frame) ? frame : JSON.stringify(frame));
  }

  /** Break the connection without telling anybody. */
  drop(): void {
    this.#isOver = true;
    clearInterval(this.#pingTimer);
    this.#socket?.drop();
  }

  onText(text: string): void {
    this.#heardAtMs = performance.now();
    let frame: ServerFrame;
    try {
      frame = JSON.parse(text) as ServerFrame; // the peer is the daemon, whose frames are of this type
    } catch (cause) {
      this.#end(
        new ProtocolError(`${this.#operation}: the daemon sent a text frame that is not JSON`, { operation: this.#operation, cause }),
      );
      return;
    }
    switch (frame.type) {
      case "ready":
        this.#resolveReady(frame);
        return;
      case "pong":
        return;
      case "exit":
        this.#end(frame);
        return;
      case "error":
        this.#end(toTerminalError(this.#operation, frame));
        return;
      default: {
        const other = frame;
        this.#deliver((events) => events.onFrame(other));
      }
    }
  }

  onBytes(bytes: Uint8Array): void {
    this.#heardAtMs = performance.now();
    this.#deliver((events) => events.onOutput(bytes));
  }

  onClose(cause: unknown): void {
    this.#end(
      new ConnectionError(`${this.#operation}: the connection ended, and that says nothing about the terminal`, {
        operation: this.#operation,
        cause,
      }),
    );
  }

  #ping(): void {
    if (performance.now() - this.#heardAtMs <= SILENCE_MS) this.send({ type: "ping" });
    else this.#end(new ConnectionError(`${this.#operation}: nothing came from the daemon any more`, { operation: this.#operation }));
  }

  #end(end: ExitFrame | SandboxError): void {
    if (this.#isOver) return;
    if (end instanceof Error) this.#rejectReady(end);
    this.#deliver((events) => events.onEnd(end));
    this.drop();
  }

  #deliver(action: (events: TerminalEvents) => void): void {
    if (this.#isOver) return;
    const events = this.#events;
    if (events === undefined) this.#pending.push(() => this.#events !== undefined && action(this.#events));
    else action(events);
  }
}

/** The error that a frame tells. */
export function toTerminalError(operation: string, frame: Schemas["ErrorFrame"] | Schemas["RefusedFrame"]): SandboxError {
  const reason = isErrorReason(frame.error_code) ? frame.error_code : "internal";
  return errorFromReason(reason, `${operation} failed: ${frame.message}`, { operation });
}
