import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocketServer } from "ws";
import type { components } from "../../../gen/openapi/terminals.js";
import { FailedPreconditionError, InvalidArgumentError, PermissionDeniedError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";
import { readTraceVariables } from "../../shared/trace-context.js";
import { assertAccess } from "../auth.js";
import type { DaemonState } from "../daemon-state.js";
import { sendHttpError, sendJson } from "../http-response.js";
import { readJsonObject } from "../json-body.js";
import type { ManagedProcess } from "../process/managed-process.js";
import type { ProcessRegistry } from "../process/process-registry.js";
import { resolveUser } from "../users.js";
import { optionalInteger, optionalString, parseTerminalStart } from "./frames.js";
import { type Attachment, TerminalConnection } from "./terminal-connection.js";
import { TerminalSessions } from "./terminal-session.js";
import { type Grant, MAX_TICKET_LIFE_MS, TicketStore } from "./ticket-store.js";

export const TERMINAL_PATH = "/agentsandbox/pty";
export const TICKET_PATH = "/agentsandbox/pty/tickets";

const SESSION = /^[A-Za-z0-9_-]{16,64}$/;
const MAX_PID = 2 ** 32 - 1;
const MAX_MESSAGE_BYTES = 1024 * 1024;
const SHELL = { cmd: "/bin/bash", args: ["-i", "-l"] } as const;

/** What a connection asks for in its query. */
interface TerminalQuery {
  readonly pid: number | undefined;
  readonly fromOffset: number | undefined;
  readonly session: string | undefined;
  readonly mustResume: boolean;
  readonly windowBytes: number | undefined;
  readonly ticket: string | undefined;
}

/** Terminals over WebSocket, and the tickets that open them: `openapi/terminals.yaml`. */
export class TerminalEndpoint {
  readonly #processes: ProcessRegistry;
  readonly #state: DaemonState;
  readonly #tickets = new TicketStore();
  readonly #sessions = new TerminalSessions();
  readonly #connections = new Set<TerminalConnection>();
  #server: Promise<WebSocketServer> | undefined;

  constructor(processes: ProcessRegistry, state: DaemonState) {
    this.#processes = processes;
    this.#state = state;
  }

  /** Only these requests leave HTTP; all others are answered as if they had not asked to. */
  isUpgrade(req: IncomingMessage): boolean {
    return pathOf(req) === TERMINAL_PATH && req.method === "GET";
  }

  async handleUpgrade(req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // The client may leave at any time.
    socket.on("error", () => socket.destroy());
    try {
      if (!this.isUpgrade(req)) throw new InvalidArgumentError(`'${pathOf(req)}' has no other protocol to switch to`);
      const query = parseQuery(req);
      const grant = this.#authorize(req, query);
      this.#server ??= openWebSocketServer();
      const server = await this.#server;
      if (socket.destroyed) return;
      server.handleUpgrade(req, socket, head, (webSocket) => {
        const connection = new TerminalConnection(webSocket, {
          windowBytes: query.windowBytes,
          opening:
            grant === undefined
              ? { isKnown: false, open: (start) => this.#open({ kind: "start", start, traceVars: traceVarsOf(req) }, query) }
              : { isKnown: true, open: () => this.#open(grant, query) },
        });
        this.#connections.add(connection);
        webSocket.on("close", () => this.#connections.delete(connection));
      });
    } catch (error) {
      refuse(socket, error);
    }
  }

  /** `GET` without an upgrade. */
  handleGet(_req: IncomingMessage, res: ServerResponse): void {
    sendHttpError(res, 426, `'${TERMINAL_PATH}' speaks WebSocket only`, { upgrade: "websocket", connection: "upgrade" });
  }

  /** `POST` for a ticket; the request was authorised. */
  async handleTicket(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readJsonObject(req, MAX_MESSAGE_BYTES);
    const grant = toGrant(body, traceVarsOf(req));
    if (grant.kind === "attach") this.#findTerminal(grant.pid);
    const lifeMs = optionalInteger(body, "expires_in_ms", 1, MAX_TICKET_LIFE_MS) ?? MAX_TICKET_LIFE_MS;
    const origin = optionalString(body, "origin");
    const ticket = this.#tickets.issue({ grant, origin, lifeMs, accessToken: this.#state.accessToken });
    const answer: components["schemas"]["Ticket"] = { ticket, expires_in_ms: lifeMs };
    sendJson(res, 201, answer, { "cache-control": "no-store" });
  }

  close(): void {
    for (const connection of this.#connections) connection.terminate();
  }

  /** What the request may open; `undefined` when it will say so in its first frame. */
  #authorize(req: IncomingMessage, query: TerminalQuery): Grant | undefined {
    const { accessToken } = this.#state;
    if (query.ticket !== undefined) {
      const grant = this.#tickets.redeem(query.ticket, req.headers.origin, accessToken);
      const pid = grant.kind === "attach" ? grant.pid : undefined;
      if (query.pid !== undefined && query.pid !== pid) throw new PermissionDeniedError("the ticket is for another terminal");
      return grant;
    }
    if (req.headers.origin !== undefined)
      throw new PermissionDeniedError(`a page needs a ticket: its server gets one with POST ${TICKET_PATH}`);
    assertAccess(req, accessToken);
    return query.pid === undefined ? undefined : { kind: "attach", pid: query.pid };
  }

  async #open(grant: Grant, query: TerminalQuery): Promise<Attachment> {
    if (grant.kind === "start") {
      const process = await this.#start(grant);
      return { process, session: this.#sessions.open(process, query.session), fromOffset: 0 };
    }
    const process = this.#findTerminal(grant.pid);
    const { session: name, mustResume } = query;
    const session = name !== undefined && mustResume ? this.#sessions.find(process, name) : this.#sessions.open(process, name);
    return { process, session, fromOffset: query.fromOffset };
  }

  async #start({ start, traceVars }: Extract<Grant, { kind: "start" }>): Promise<ManagedProcess> {
    const { cols, rows, timeout_ms: timeoutMs } = start;
    return this.#processes.start({
      startId: start.start_id ?? "",
      ...(start.cmd === undefined ? SHELL : { cmd: start.cmd, args: start.args ?? [] }),
      envs: start.envs ?? {},
      traceVars,
      cwd: start.cwd,
      tag: start.tag,
      user: resolveUser(start.user, this.#state),
      hasStdin: false,
      terminal: { size: { cols, rows } },
      timeoutMs,
    });
  }

  #findTerminal(pid: number): ManagedProcess {
    const process = this.#processes.findRecent({ case: "pid", value: pid });
    if (!process.description.hasTerminal) throw new FailedPreconditionError(`process ${pid} has no terminal`);
    return process;
  }
}

function toGrant(body: Readonly<Record<string, unknown>>, traceVars: Readonly<Record<string, string>>): Grant {
  const pid = optionalInteger(body, "pid", 1, MAX_PID);
  const start = body.start === undefined ? undefined : parseTerminalStart(body.start);
  if (pid !== undefined && start === undefined) return { kind: "attach", pid };
  if (pid === undefined && start !== undefined) return { kind: "start", start, traceVars };
  throw new InvalidArgumentError("a ticket is for exactly one of pid and start");
}

/** Loaded with the first terminal, so that sandboxes without one do not pay for it. */
async function openWebSocketServer(): Promise<WebSocketServer> {
  const { WebSocketServer } = await import("ws");
  return new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MAX_MESSAGE_BYTES, clientTracking: false });
}

function traceVarsOf({ headers }: IncomingMessage): Readonly<Record<string, string>> {
  return readTraceVariables((name) => headers[name]);
}

function pathOf(req: IncomingMessage): string {
  return req.url?.split("?", 1)[0] ?? "";
}

function parseQuery(req: IncomingMessage): TerminalQuery {
  const [, search = ""] = (req.url ?? "").split("?", 2);
  const params = new URLSearchParams(search);
  const numbers: Record<string, number> = {};
  for (const name of ["pid", "from_offset", "window"]) {
    const text = params.get(name);
    if (text === null) continue;
    if (!/^\d{1,16}$/.test(text)) throw new InvalidArgumentError(`${name} must be a whole number`);
    numbers[name] = Number(text);
  }
  const session = params.get("session") ?? undefined;
  if (session !== undefined && !SESSION.test(session))
    throw new InvalidArgumentError("session must have 16 to 64 characters of A-Z a-z 0-9 _ -");
  const resume = params.get("resume") ?? "false";
  if (resume !== "true" && resume !== "false") throw new InvalidArgumentError("resume must be true or false");
  if (resume === "true" && session === undefined) throw new InvalidArgumentError("resume needs a session");
  return {
    pid: optionalInteger(numbers, "pid", 1, MAX_PID),
    fromOffset: optionalInteger(numbers, "from_offset", 0, Number.MAX_SAFE_INTEGER),
    windowBytes: optionalInteger(numbers, "window", 4_096, 16_777_216),
    session,
    mustResume: resume === "true",
    ticket: params.get("ticket") ?? undefined,
  };
}

/** Answer a request that was not upgraded, and close. */
function refuse(socket: Duplex, error: unknown): void {
  if (socket.destroyed) return;
  const reason = SandboxError.isInstance(error) ? error.reason : "internal";
  const status = STATUS_OF_REASON[reason].http;
  const message = error instanceof Error ? error.message : "the daemon failed for an unknown reason";
  const body = JSON.stringify({ code: status, message, error_code: reason });
  const head = [
    `HTTP/1.1 ${status} Refused`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
