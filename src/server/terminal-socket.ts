import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { assertTerminalSize } from "../daemon/process/launch-terminal.js";
import { joinPiece } from "../daemon/process/output-cursor.js";
import { followOutput } from "./programs.js";
import type { TerminalSession, TerminalSessions } from "./terminal-sessions.js";

/** Path of the WebSocket. */
export const TERMINAL_PATH = "/pty";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT"] as const;
const MAX_MESSAGE_BYTES = 1024 * 1024;
const MAX_BUFFERED_BYTES = 1024 * 1024;
const POLICY_VIOLATION = 1008;
const TOO_MUCH = 1013;

/** Terminals over WebSocket, as `GET /pty` of openapi/server.yaml. */
export class TerminalSocket {
  readonly #sessions: TerminalSessions;
  readonly #sockets = new Set<WebSocket>();
  #server: Promise<WebSocketServer> | undefined;

  constructor(sessions: TerminalSessions) {
    this.#sessions = sessions;
  }

  /** Switch to WebSocket, and connect to the terminal that the query names. */
  async accept(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.#server ??= openWebSocketServer();
    const server = await this.#server;
    if (socket.destroyed) return;
    const id = new URLSearchParams(req.url?.split("?", 2)[1] ?? "").get("session_id") ?? "";
    server.handleUpgrade(req, socket, head, (webSocket) => {
      // What is wrong with the connection shows in its end.
      webSocket.on("error", () => {});
      const session = this.#sessions.find(id);
      if (session === undefined) {
        webSocket.close(POLICY_VIOLATION, id === "" ? "Missing session_id parameter" : `Unknown session: ${id.slice(0, 64)}`);
        return;
      }
      this.#sockets.add(webSocket);
      webSocket.on("close", () => this.#sockets.delete(webSocket));
      void connect(webSocket, session);
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.terminate();
  }
}

/** Loaded with the first terminal, so that servers without one do not pay for it. */
async function openWebSocketServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import("ws");
  return new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES, clientTracking: false });
}

async function connect(socket: WebSocket, session: TerminalSession): Promise<void> {
  const left = new AbortController();
  session.connections += 1;
  socket.on("close", () => left.abort(new Error("the client left")));
  socket.on("message", (data, isBinary) => {
    session.usedAtMs = performance.now();
    // Messages are single buffers: the binary type of the socket is the default one.
    if (!isBinary) onMessage((data as Buffer).toString("utf8"), session, socket);
  });
  const decoder = new TextDecoder();
  try {
    await send(socket, { type: "event", event: "started", session_id: session.id, pid: session.process.pid });
    for await (const piece of followOutput(session.process, left.signal, session.deliveredOffset)) {
      await send(socket, { type: "output", data: decoder.decode(joinPiece(piece), { stream: true }) });
      session.deliveredOffset = Math.max(session.deliveredOffset, piece.offset + piece.sizeBytes);
    }
    await send(socket, { type: "event", event: "exited", session_id: session.id });
    socket.close(1000);
  } catch {
    // The client left, or took nothing for too long.
    socket.terminate();
  } finally {
    session.connections -= 1;
    session.usedAtMs = performance.now();
  }
}

/** What is malformed or unknown counts for nothing. */
function onMessage(text: string, session: TerminalSession, socket: WebSocket): void {
  let message: { type?: unknown; data?: unknown; cols?: unknown; rows?: unknown; signal?: unknown };
  try {
    message = (JSON.parse(text) ?? {}) as typeof message; // every field is looked at before its use
  } catch {
    return;
  }
  const { process } = session;
  try {
    switch (message.type) {
      case "input":
        // A full queue is the end of this connection, or memory would grow with what nobody reads.
        if (typeof message.data === "string") process.write("pty", Buffer.from(message.data)).catch(() => socket.close(TOO_MUCH));
        break;
      case "resize": {
        const size = { cols: message.cols as number, rows: message.rows as number }; // the next line looks at them
        assertTerminalSize(size);
        process.resize(size.cols, size.rows);
        session.size = size;
        break;
      }
      case "signal": {
        const signal = SIGNALS.find((name) => name === message.signal);
        if (signal !== undefined && process.exit === undefined) process.signal(signal);
        break;
      }
    }
  } catch {
    // A wrong size, or a shell that ended in this moment.
  }
}

/** Resolves when the client has taken enough of what was sent before. */
function send(socket: WebSocket, message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const isFull = socket.bufferedAmount > MAX_BUFFERED_BYTES;
    socket.send(JSON.stringify(message), (error) => {
      if (error) reject(error);
      else resolve();
    });
    if (!isFull) resolve();
  });
}
