import type { IncomingMessage } from "node:http";

/** Headers that concern one connection only (RFC 9110, section 7.6.1). `Expect` is answered by our own server. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "upgrade",
  "expect",
]);
/** How the edge found the sandbox; the daemon would take it for its own routing. */
const ROUTING = new Set(["e2b-sandbox-id", "e2b-sandbox-port"]);
/** What programs behind ports have no use for: the platform's own credential. */
const CREDENTIALS = new Set(["e2b-traffic-access-token"]);

const TRAILER = new Set(["trailer"]);

/** Names and values in turn, as they go over the wire. */
export type RawHeaders = string[];

/**
 * Headers of a request as the sandbox gets them: spelling, order and repetitions stay.
 *
 * @param appHost takes the place of the Host header
 */
export function toUpstreamHeaders(request: IncomingMessage, isDaemon: boolean, appHost?: string): RawHeaders {
  const headers = withoutHopByHop(request, isDaemon ? ROUTING : CREDENTIALS);
  if (appHost !== undefined) {
    const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === "host");
    headers.splice(Math.max(at, 0), at < 0 ? 0 : 2, "Host", appHost);
  }
  if (request.headers["transfer-encoding"] === undefined && request.headers["content-length"] === undefined && hasBodyByDefault(request)) {
    // Node would announce a chunked body that never comes.
    headers.push("Content-Length", "0");
  }
  if (!isDaemon) pushForwarded(headers, request);
  return headers;
}

/** Headers of an answer as the client gets them. */
export function toClientHeaders(answer: IncomingMessage): RawHeaders {
  // Only a chunked body can have trailers; Node refuses to announce them for another one.
  return withoutHopByHop(answer, answer.headers["transfer-encoding"] === undefined ? TRAILER : undefined);
}

/** Headers of a message without those that concern one connection only. */
export function withoutHopByHop(message: IncomingMessage, alsoDropped?: ReadonlySet<string>): RawHeaders {
  const named = message.headers.connection?.toLowerCase().split(",") ?? [];
  const dropped = new Set(named.map((name) => name.trim()).filter((name) => name !== "content-length" && name !== "transfer-encoding"));
  const headers: RawHeaders = [];
  let hasHost = false;
  for (let index = 0; index < message.rawHeaders.length; index += 2) {
    // rawHeaders has an even number of elements.
    const name = message.rawHeaders[index] as string;
    const value = message.rawHeaders[index + 1] as string;
    const key = name.toLowerCase();
    if (HOP_BY_HOP.has(key) || dropped.has(key) || alsoDropped?.has(key)) continue;
    if (key === "host" && hasHost) continue;
    hasHost ||= key === "host";
    headers.push(name, value);
  }
  return headers;
}

function hasBodyByDefault(request: IncomingMessage): boolean {
  return !["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"].includes(request.method ?? "GET");
}

function pushForwarded(headers: RawHeaders, request: IncomingMessage): void {
  const add = (name: string, value: string | undefined) => {
    if (request.headers[name.toLowerCase()] === undefined && value !== undefined) headers.push(name, value);
  };
  add("X-Forwarded-For", request.socket.remoteAddress);
  add("X-Forwarded-Host", request.headers.host);
  add("X-Forwarded-Proto", "http");
}
