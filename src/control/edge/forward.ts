import { type ClientRequest, type ClientRequestArgs, type IncomingMessage, request as openRequest, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendJson } from "../rest/json-answer.js";
import type { SandboxLink } from "../sandbox-link.js";
import { brokenUpstream, type EdgeAnswer, sandboxNotFound } from "./edge-answer.js";
import { toClientHeaders, toUpstreamHeaders } from "./forward-headers.js";
import { DAEMON_PORT } from "./route.js";

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
export function forward(exchange: Exchange, tunnel?: Socket): void {
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
  upstream.on("information", ({ statusCode, rawHeaders }) => {
    if (statusCode === 103) writeEarlyHints(response, rawHeaders);
  });
  upstream.on("response", (answer) => {
    upstreamAnswer = answer;
    passBack(answer, response);
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

function openUpstream({ request, link, port, appHost }: Exchange, tunnel: Socket | undefined): ClientRequest {
  const isDaemon = port === DAEMON_PORT;
  const options: ClientRequestArgs = {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: toUpstreamHeaders(request, isDaemon, appHost),
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
  request.pipe(upstream);
}

function passBack(answer: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed) {
    answer.destroy();
    return;
  }
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, toClientHeaders(answer));
  // A body that is there already shares the packet of the head; a head that waits for its body (events, long polls) goes out alone.
  setImmediate(() => {
    if (!response.writableEnded) response.flushHeaders();
  });
  answer.on("end", () => {
    if (Object.keys(answer.trailers).length > 0) response.addTrailers(toPairs(answer.rawTrailers));
  });
  // A body that is cut short must not look complete.
  answer.on("error", () => reset(response));
  answer.on("aborted", () => reset(response));
  answer.pipe(response);
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
  if (links.length > 0 && !response.headersSent) response.writeEarlyHints({ link: links.map(([, value]) => value) });
}

function toPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""] as [string, string]] : []));
}
