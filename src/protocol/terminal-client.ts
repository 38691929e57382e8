import type { components } from "../../gen/openapi/terminals.js";
import { ProtocolError, SandboxNotFoundError, TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { untilAborted } from "../shared/until-aborted.js";
import type { DaemonHttp } from "../transport/daemon-http.js";
import { Deadline } from "../transport/deadline.js";
import { toStreamTimeout } from "../transport/stream-timeout.js";
import { RefusedUpgrade, type WebSocketOpener } from "../transport/websocket.js";
import { errorFromResponse } from "../transport/wire-errors.js";
import { pause } from "./backoff.js";
import type { ProcessCallOptions, ProcessSpec, ProcessStreamOptions, PtySize } from "./process-client.js";
import { GIVE_UP_MS, isPassing, Outage } from "./resumable-stream.js";
import { StreamLife } from "./stream-life.js";
import { TerminalConnection } from "./terminal-connection.js";
import { type ReadyConnection, ResumableTerminal, type TerminalStream, WINDOW_BYTES } from "./terminal-stream.js";

const TERMINAL_PATH = "/agentsandbox/pty";
const TICKET_PATH = "/agentsandbox/pty/tickets";
/** The daemon ends a terminal at its deadline; the client waits this much longer for the news. */
const DEADLINE_GRACE_MS = 2_000;

type Start = components["schemas"]["TerminalStart"];

/** A program on a new terminal. */
export interface TerminalSpec extends Omit<ProcessSpec, "stdin" | "pty"> {
  readonly pty: PtySize;
}

export interface TerminalAttachOptions extends ProcessStreamOptions {
  /** First wanted byte of the output; `undefined` what comes next. */
  readonly fromOffset?: number | undefined;
}

/** What a ticket opens, and for whom. */
export interface TicketSpec {
  readonly target: { readonly pid: number } | { readonly start: TerminalSpec; readonly timeoutMs: number };
  readonly origin?: string | undefined;
}

/** Terminals of a daemon of ours, over WebSocket. */
export interface TerminalClient {
  /** Start a program on a terminal; resolves when the daemon reported its pid. */
  start(spec: TerminalSpec, options: ProcessStreamOptions): Promise<TerminalStream>;
  attach(pid: number, options: TerminalAttachOptions): Promise<TerminalStream>;
  /** A URL that opens one connection, once, within a minute. */
  ticketUrl(spec: TicketSpec, options: ProcessCallOptions): Promise<string>;
}

export interface TerminalClientParts {
  readonly sockets: WebSocketOpener;
  readonly http: DaemonHttp;
  readonly sandboxId: string;
  /** Where headers choose the sandbox. */
  readonly baseUrl: string;
  /** Where the host name chooses the sandbox. */
  readonly hostUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestTimeoutMs: number;
}

/** Put the terminals of a daemon into domain terms. */
export function createTerminalClient(parts: TerminalClientParts): TerminalClient {
  return {
    async start(spec, options) {
      const life = new StreamLife(options.signal);
      try {
        const start = toStart(spec, options.timeoutMs);
        const first = await startOnce(parts, start, options, life);
        const toTimeout = () => toStreamTimeout({ operation: options.operation, sandboxId: parts.sandboxId }, options.timeoutMs);
        life.endAfter(options.timeoutMs === 0 ? 0 : options.timeoutMs + DEADLINE_GRACE_MS, toTimeout);
        return follow(parts, first, options, life);
      } catch (error) {
        life[Symbol.dispose]();
        throw error;
      }
    },
    async attach(pid, options) {
      const life = new StreamLife(options.signal);
      try {
        const from: Record<string, string> = options.fromOffset === undefined ? {} : { from_offset: String(options.fromOffset) };
        const first = await dial(parts, { query: { pid: String(pid), ...newSession(), ...from } }, options, life.signal);
        const toTimeout = () => toStreamTimeout({ operation: options.operation, sandboxId: parts.sandboxId }, options.timeoutMs);
        life.endAfter(options.timeoutMs, toTimeout);
        return follow(parts, first, options, life);
      } catch (error) {
        life[Symbol.dispose]();
        throw toFirstError(error, parts.sandboxId);
      }
    },
    async ticketUrl({ target, origin }, options) {
      const request = "pid" in target ? { pid: target.pid } : { start: toStart(target.start, target.timeoutMs) };
      const ticket = await getTicket(parts, { ...request, ...(origin !== undefined && { origin }) }, options);
      return `${toSocketUrl(parts.hostUrl)}?${new URLSearchParams({ ticket })}`;
    },
  };
}

function follow(parts: TerminalClientParts, first: ReadyConnection, options: ProcessStreamOptions, life: StreamLife): TerminalStream {
  const { operation, timeoutMs } = options;
  return new ResumableTerminal(first, {
    operation,
    life,
    requestTimeoutMs: parts.requestTimeoutMs,
    reattach: (ready, fromOffset, windowBytes) => {
      const query = {
        pid: String(ready.pid),
        session: ready.session,
        resume: "true",
        from_offset: String(fromOffset),
        window: String(windowBytes),
      };
      return dial(parts, { query }, { ...options, isInFlight: true }, life.signal);
    },
    toTimeout: () => toStreamTimeout({ operation, sandboxId: parts.sandboxId }, timeoutMs),
  });
}

/** Start a terminal, however often the request or its answer is lost on the way. */
async function startOnce(
  parts: TerminalClientParts,
  start: Start,
  options: ProcessStreamOptions,
  life: StreamLife,
): Promise<ReadyConnection> {
  const outage = new Outage(options.operation);
  // The same at each try, as whatever arrives twice must be one terminal and one input.
  const query = newSession();
  const limitMs = Math.min(GIVE_UP_MS, options.requestTimeoutMs || GIVE_UP_MS);
  for (;;) {
    try {
      return await dial(parts, { query, start }, options, life.signal);
    } catch (error) {
      const isLost = SandboxError.isInstance(error) && error.reason === "connection";
      if (life.signal.aborted || !isLost || !isPassing(error)) throw toFirstError(error, parts.sandboxId);
      await pause(outage.nextPauseMs(error, limitMs), life.signal);
    }
  }
}

function newSession(): Record<string, string> {
  return { session: crypto.randomUUID(), window: String(WINDOW_BYTES) };
}

interface Dialing {
  readonly query: Readonly<Record<string, string>>;
  readonly start?: Start;
}

/** Open one connection; resolves when it is ready. */
async function dial(
  parts: TerminalClientParts,
  { query, start }: Dialing,
  options: ProcessCallOptions & Pick<ProcessStreamOptions, "span"> & { readonly isInFlight?: boolean },
  signal: AbortSignal,
): Promise<ReadyConnection> {
  const { sockets, sandboxId } = parts;
  const { operation } = options;
  const deadline = new Deadline({
    operation,
    signal,
    requestTimeoutMs: options.requestTimeoutMs ?? parts.requestTimeoutMs,
    sandboxId,
  });
  const connection = new TerminalConnection(operation);
  try {
    const params = new URLSearchParams(query);
    if (!sockets.sendsHeaders) {
      params.set(
        "ticket",
        await getTicket(parts, start === undefined ? { pid: Number(query.pid) } : { start }, { ...options, signal: deadline.signal }),
      );
    }
    const headers = { ...parts.headers, ...options.span?.headers() };
    const url = `${toSocketUrl(sockets.sendsHeaders ? parts.baseUrl : parts.hostUrl)}?${params}`;
    connection.attach(await sockets.open({ url, headers, signal: deadline.signal, handlers: connection }));
    if (sockets.sendsHeaders && start !== undefined) connection.send({ type: "start", ...start });
    const ready = await untilAborted(connection.ready, deadline.signal);
    // From here on the connection belongs to the stream, which has the signal too.
    return { connection, ready };
  } catch (error) {
    connection.drop();
    if (deadline.signal.aborted) throw deadline.signal.reason;
    if (!(error instanceof RefusedUpgrade)) throw error;
    const context = { operation, sandboxId, peer: "daemon", notFound: "unimplemented", isInFlight: options.isInFlight } as const;
    throw await errorFromResponse(error.response, context, deadline.signal);
  } finally {
    deadline[Symbol.dispose]();
  }
}

async function getTicket(
  { http }: TerminalClientParts,
  request: components["schemas"]["TicketRequest"],
  options: ProcessCallOptions,
): Promise<string> {
  const answer = await http.send({
    ...options,
    method: "POST",
    target: TICKET_PATH,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(await answer.response.bytes()));
    if (typeof body === "object" && body !== null && "ticket" in body && typeof body.ticket === "string") return body.ticket;
    throw new ProtocolError(`${options.operation}: the daemon's answer holds no ticket`, { operation: options.operation });
  } catch (error) {
    throw await answer.explain(error);
  } finally {
    answer.deadline[Symbol.dispose]();
  }
}

function toStart(spec: TerminalSpec, timeoutMs: number): Start {
  const { cmd, args, envs, cwd, user, tag, pty } = spec;
  return {
    ...pty,
    cmd,
    args: [...args],
    envs: { ...envs },
    start_id: crypto.randomUUID(),
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(tag !== undefined && { tag }),
    ...(timeoutMs > 0 && { timeout_ms: timeoutMs }),
  };
}

function toSocketUrl(httpUrl: string): string {
  return `${httpUrl.replace(/^http/, "ws")}${TERMINAL_PATH}`;
}

/** Before the first frame nothing was in flight: a daemon that cannot be reached means that there is no such sandbox. */
function toFirstError(error: unknown, sandboxId: string): unknown {
  if (!(error instanceof TimeoutError) || error.reason !== "sandbox_gone") return error;
  return new SandboxNotFoundError(error.message, {
    sandboxId,
    cause: error,
    ...(error.operation !== undefined && { operation: error.operation }),
  });
}
