import { type ClientRequest, type ClientRequestArgs, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { ProtocolError } from "../../errors/error-classes.js";
import { reclaimBuffers } from "../../shared/reclaim-buffers-node.js";
import { sendJson } from "../rest/json-answer.js";
import type { SandboxLink } from "../sandbox-link.js";
import { MAX_HEAD_BYTES } from "./answer-head.js";
import { brokenUpstream, type EdgeAnswer, sandboxNotFound } from "./edge-answer.js";
import { flushHead } from "./flush-head.js";
import { toClientHeaders, toUpstreamHeaders } from "./forward-headers.js";
import { DAEMON_PORT } from "./route.js";

/** Answers of 1xx to one request; what sends more has no end of them. */
const MAX_INTERIM_ANSWERS = 32;

/** One request on its way through the edge. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly link: SandboxLink;
  readonly port: number;
  /** Host header for the program behind the port, in place of the real one. */
  readonly appHost?: string | undefined;
}

/**
 * Pass a request to the sandbox and its answer back, both as streams.
 *
 * @param tunnel a connection to the port; absent for the daemon, whose connections are kept alive.
 */
export function forward(exchange: Exchange, tunnel?: Duplex): void {
  const { request, response, link, port } = exchange;
  const upstream = openUpstream(exchange, tunnel);
  let upstreamAnswer: IncomingMessage | undefined;

  const release = link.onSever(() => {
    upstream.destroy();
    breakOff(response, sandboxNotFound(link.sandboxId));
  });
  response.on("close", () => {
    release();
    // Also the normal end; destroying a finished request is harmless, and a tunnel serves one request.
    if (!response.writableFinished || tunnel !== undefined) upstream.destroy();
  });
  let interimAnswers = 0;
  upstream.on("information", ({ statusCode, rawHeaders }) => {
    interimAnswers += 1;
    if (interimAnswers > MAX_INTERIM_ANSWERS) upstream.destroy(new ProtocolError("interim answers without end"));
    else if (statusCode === 103) writeEarlyHints(response, rawHeaders);
  });
  upstream.on("response", (answer) => {
    upstreamAnswer = answer;
    if (passBack(answer, response)) return;
    answer.destroy();
    breakOff(response, port === DAEMON_PORT ? sandboxNotFound(link.sandboxId) : brokenUpstream(link.sandboxId, port));
  });
  upstream.on("upgrade", (_answer, socket) => {
    // Nobody asked to switch. Node tells of it in no other way, and the client would wait for ever.
    socket.destroy();
    breakOff(response, port === DAEMON_PORT ? sandboxNotFound(link.sandboxId) : brokenUpstream(link.sandboxId, port));
  });
  upstream.on("error", () => {
    if (link.isSevered) return;
    if (mayRepeat(exchange, upstream, upstreamAnswer)) {
      release();
      forward(exchange, tunnel);
      return;
    }
    breakOff(response, port === DAEMON_PORT ? sandboxNotFound(link.sandboxId) : brokenUpstream(link.sandboxId, port));
  });
  passUp(request, upstream);
}

function openUpstream({ request, link, port, appHost }: Exchange, tunnel: Duplex | undefined): ClientRequest {
  const isDaemon = port === DAEMON_PORT;
  const options: ClientRequestArgs = {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: toUpstreamHeaders(request, isDaemon, appHost),
    maxHeaderSize: MAX_HEAD_BYTES,
    ...(tunnel === undefined ? { agent: link.agent } : { createConnection: () => tunnel }),
  };
  return openRequest(options);
}

function passUp(request: IncomingMessage, upstream: ClientRequest): void {
  if (!hasBody(request)) {
    upstream.end();
    return;
  }
  request.on("end", () => {
    if (Object.keys(request.trailers).length > 0) upstream.addTrailers(toPairs(request.rawTrailers));
  });
  request.on("data", (bytes: Buffer) => reclaimBuffers(bytes.length));
  request.pipe(upstream);
}

/** False when the head of the answer is none that could be passed on. */
function passBack(answer: IncomingMessage, response: ServerResponse): boolean {
  if (response.destroyed) {
    answer.destroy();
    return true;
  }
  response.sendDate = false;
  try {
    response.writeHead(answer.statusCode ?? 0, answer.statusMessage, toClientHeaders(answer));
  } catch {
    // The parser lets more through than may be written, such as a status of 0. A guest wrote it, so it must harm nobody else.
    return false;
  }
  // A body that is there already shares the packet of the head; a head that waits for its body (events, long polls) goes out alone.
  setImmediate(() => {
    if (!response.writableEnded) flushHead(response);
  });
  answer.on("end", () => {
    if (Object.keys(answer.trailers).length > 0) response.addTrailers(toPairs(answer.rawTrailers));
  });
  // A body that is cut short must not look complete.
  answer.on("error", () => reset(response));
  answer.on("aborted", () => reset(response));
  answer.pipe(response);
  return true;
}

/**
 * True when the daemon closed an idle connection just as it was used again, so the request never arrived.
 *
 * Only a request without a body can be repeated: what was read of a body is gone.
 */
function mayRepeat({ request, response, link }: Exchange, upstream: ClientRequest, answer: IncomingMessage | undefined): boolean {
  return upstream.reusedSocket && answer === undefined && !hasBody(request) && !response.destroyed && !link.isSevered;
}

function hasBody(request: IncomingMessage): boolean {
  return request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;
}

/** Answer when there is no answer yet; otherwise break the connection so that nobody takes the stream for complete. */
export function breakOff(response: ServerResponse, { status, body }: EdgeAnswer): void {
  if (response.headersSent) {
    reset(response);
    return;
  }
  if (!response.destroyed) sendJson(response, status, body, { connection: "close", "access-control-allow-origin": "*" });
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy();
  response.destroy();
}

function writeEarlyHints(response: ServerResponse, rawHeaders: readonly string[]): void {
  const links = toPairs(rawHeaders).filter(([name]) => name.toLowerCase() === "link");
  if (links.length === 0 || response.headersSent) return;
  try {
    response.writeEarlyHints({ link: links.map(([, value]) => value) });
  } catch {
    // Not a link by the rules of Node; hints may be left out.
  }
}

function toPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as [string, string]] : []));
}
