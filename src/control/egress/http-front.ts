import { createServer, type IncomingMessage, request as openRequest, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { withoutHopByHop } from "../edge/forward-headers.js";
import { type EgressGateway, noteFailure } from "./egress-gateway.js";
import { toHostName } from "./host-name.js";
import { toBasicCredentials } from "./host-proxy.js";
import { passBack, sendText, withHost } from "./http-answer.js";
import { type EgressTimeouts, limitAnswer, limitRequests } from "./http-limits.js";
import { type InterceptionServer, intercept } from "./interception.js";
import { parseAddress } from "./ip-network.js";
import { joinSockets } from "./join-sockets.js";
import type { Destination } from "./network-policy.js";

const MAX_HEADER_BYTES = 64 * 1024;
/** The only port on which header rules apply. */
const TLS_PORT = 443;

/** Serves the HTTP proxy protocol on channels of sandboxes: CONNECT, and requests with a whole URL. */
export class HttpFront {
  readonly #server: Server;
  readonly #interception: InterceptionServer;
  readonly #gateways = new WeakMap<Duplex, EgressGateway>();
  readonly #timeouts: EgressTimeouts;

  constructor(interception: InterceptionServer, timeouts: EgressTimeouts) {
    this.#interception = interception;
    this.#timeouts = timeouts;
    // It never listens: connections are handed to it.
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES });
    limitRequests(this.#server, timeouts);
    // A client that has finished sending still wants its answer; Node has no type for this switch.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on("request", (request, response) => void this.#onRequest(request, response));
    this.#server.on("connect", (request, socket, head) => void this.#onConnect(request, socket as Socket, head));
    this.#server.on("clientError", (_error, socket) => refuse(socket, 400, "this is not a valid request to an HTTP proxy"));
  }

  serve(channel: Socket, gateway: EgressGateway): void {
    this.#gateways.set(channel, gateway);
    this.#server.emit("connection", channel);
  }

  async #onConnect(request: IncomingMessage, channel: Socket, head: Buffer): Promise<void> {
    channel.on("error", () => channel.destroy());
    const gateway = this.#gateways.get(channel);
    const destination = parseAuthority(request.url ?? "");
    if (gateway === undefined || destination === undefined) {
      refuse(channel, 400, `CONNECT wants <host>:<port>, not "${(request.url ?? "").slice(0, 100)}"`);
      return;
    }
    const entry = gateway.log.begin("connect", destination);
    const headers = destination.port === TLS_PORT ? gateway.headerRules.find(destination.host) : undefined;
    try {
      if (headers !== undefined) {
        const { reason } = await gateway.authorize(destination, "tunnel");
        Object.assign(entry, { decision: "allowed", reason });
        channel.write(toEstablished());
        if (head.length > 0) channel.unshift(head);
        intercept({ channel, gateway, destination, headers, entry }, this.#interception);
        return;
      }
      const { socket, address, reason } = await gateway.connect(destination, "tunnel");
      Object.assign(entry, { decision: "allowed", reason }, address === undefined ? {} : { address });
      joinSockets(channel, socket, this.#timeouts.idleMs, (sent, received) => {
        Object.assign(entry, { bytesSent: sent + head.length, bytesReceived: received, durationMs: Date.now() - entry.at.getTime() });
      });
      if (channel.writable) channel.write(toEstablished());
      if (head.length > 0 && socket.writable) socket.write(head);
    } catch (error) {
      const status = noteFailure(entry, error);
      refuse(channel, status, entry.reason);
    }
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const channel = request.socket;
    response.on("error", () => response.destroy());
    const gateway = this.#gateways.get(channel);
    const target = parseTarget(request.url ?? "");
    if (gateway === undefined || target === undefined) {
      sendText(response, 400, "this is an HTTP proxy: send CONNECT, or a whole http:// URL without a user name");
      return;
    }
    const { destination, url } = target;
    const entry = gateway.log.begin("http", destination, request.method);
    const proxy = gateway.findHttpProxy(destination);
    const headers = withHost(withoutHopByHop(request), url.host);
    const authorization = proxy === undefined ? undefined : toBasicCredentials(proxy);
    if (authorization !== undefined) headers.push("Proxy-Authorization", authorization);
    const upstream = openRequest({
      method: request.method ?? "GET",
      host: destination.host,
      port: destination.port,
      path: proxy === undefined ? `${url.pathname}${url.search}` : url.href,
      headers,
      agent: gateway.httpAgent,
    });
    limitAnswer(upstream, this.#timeouts);
    upstream.on("response", (answer) => {
      Object.assign(entry, { decision: "allowed" }, gateway.describe(answer.socket));
      passBack(answer, response, entry);
    });
    upstream.on("error", (error) => {
      if (response.headersSent) {
        channel.destroy();
        return;
      }
      const status = noteFailure(entry, error);
      sendText(response, status === 500 ? 502 : status, entry.reason);
    });
    response.on("close", () => {
      entry.durationMs ??= Date.now() - entry.at.getTime();
      if (!response.writableFinished) upstream.destroy();
    });
    request.on("data", (chunk: Buffer) => {
      entry.bytesSent += chunk.length;
    });
    request.pipe(upstream);
  }
}

function refuse(duplex: Duplex, status: number, text: string): void {
  // Every connection of this server is a channel.
  const socket = duplex as Socket;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = `${text}\n`;
  socket.write(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Agent-Sandbox-Egress: ${status === 403 ? "denied" : "failed"}\r\nConnection: close\r\n\r\n${body}`,
  );
  // A guest that never ends its side would hold the channel.
  socket.destroySoon();
}

function toEstablished(): string {
  return "HTTP/1.1 200 Connection Established\r\n\r\n";
}

function parseAuthority(text: string): Destination | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]{2,45})\]|([^[\]:/@\s]{1,253})):(\d{1,5})$/.exec(text);
  return match === null ? undefined : toDestination(match[1] ?? match[2] ?? "", Number(match[3]));
}

function parseTarget(text: string): { readonly destination: Destination; readonly url: URL } | undefined {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "http:" || url.username !== "" || url.password !== "") return undefined;
  const destination = toDestination(url.hostname.replace(/^\[|\]$/g, ""), Number(url.port || 80));
  return destination === undefined ? undefined : { destination, url };
}

function toDestination(hostText: string, port: number): Destination | undefined {
  if (port < 1 || port > 65_535) return undefined;
  const host = parseAddress(hostText) === undefined ? toHostName(hostText) : hostText.toLowerCase();
  return host === undefined ? undefined : { host, port };
}
