import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Agent as HttpsAgent, request as openRequest } from "node:https";
import type { Socket } from "node:net";
import { type ConnectionOptions, connect as connectTls, type SecureContext, TLSSocket } from "node:tls";
import { SandboxError } from "../../errors/sandbox-error.js";
import { connectBy } from "../connect-by.js";
import { withoutHopByHop } from "../edge/forward-headers.js";
import type { AccessEntry } from "./access-log.js";
import { type EgressGateway, noteFailure } from "./egress-gateway.js";
import { applyHeaders } from "./header-rules.js";
import { passBack, sendText, withHost } from "./http-answer.js";
import { type EgressTimeouts, limitAnswer, limitRequests } from "./http-limits.js";
import { parseAddress } from "./ip-network.js";
import type { Destination } from "./network-policy.js";

/** A connection to a host with header rules. */
export interface Interception {
  readonly channel: Socket;
  readonly gateway: EgressGateway;
  readonly destination: Destination;
  readonly headers: Readonly<Record<string, string>>;
  /** Of the CONNECT. */
  readonly entry: AccessEntry;
}

interface OpenInterception extends Interception {
  readonly agent: HttpsAgent;
}

const MAX_HEADER_BYTES = 64 * 1024;
const HANDSHAKE_TIMEOUT_MS = 15_000;
const MAX_UPSTREAMS = 8;

/**
 * Serves requests inside connections that were opened for header rules.
 *
 * The host is that of the CONNECT, which the rules of the sandbox allowed: a TLS server name or a `Host` header that says another is
 * refused, so that a secret goes to the host of its rule and to nobody else.
 */
export class InterceptionServer {
  readonly #trusted: readonly string[] | undefined;
  readonly #server: Server;
  readonly #open = new WeakMap<Socket, OpenInterception>();
  readonly #timeouts: EgressTimeouts;

  /** @param trusted PEM certificates of authorities for the hosts outside; `undefined`: Node's own. */
  constructor(timeouts: EgressTimeouts, trusted?: readonly string[]) {
    this.#timeouts = timeouts;
    this.#trusted = trusted;
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES });
    limitRequests(this.#server, timeouts);
    // A client that has finished sending still wants its answer; Node has no type for this switch.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on("request", (request, response) => this.#onRequest(request, response));
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  serve(secure: TLSSocket, interception: Interception): void {
    const { gateway, destination } = interception;
    const agent = new HttpsAgent({ keepAlive: true, maxSockets: MAX_UPSTREAMS, maxFreeSockets: 1 });
    connectBy(agent, () => this.#connect(gateway, destination));
    this.#open.set(secure, { ...interception, agent });
    secure.once("close", () => agent.destroy());
    this.#server.emit("connection", secure);
  }

  async #connect(gateway: EgressGateway, { host, port }: Destination): Promise<TLSSocket> {
    const { socket } = await gateway.connect({ host, port }, "tunnel");
    const options: ConnectionOptions = {
      socket,
      ...(parseAddress(host) === undefined ? { servername: host } : { host }),
      ...(this.#trusted === undefined ? {} : { ca: [...this.#trusted] }),
      ALPNProtocols: ["http/1.1"],
    };
    return new Promise((resolve, reject) => {
      const secure = connectTls(options, () => resolve(secure));
      const timer = setTimeout(() => secure.destroy(new Error("the TLS handshake took too long")), HANDSHAKE_TIMEOUT_MS).unref();
      secure.once("secureConnect", () => clearTimeout(timer));
      secure.once("close", () => clearTimeout(timer));
      secure.once("error", reject);
    });
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    response.on("error", () => response.destroy());
    const open = this.#open.get(request.socket);
    if (open === undefined) {
      request.socket.destroy();
      return;
    }
    const { gateway, destination, agent } = open;
    const entry = gateway.log.begin("https", destination, request.method);
    if (!namesHost(request.headers.host, destination)) {
      Object.assign(entry, { decision: "denied", reason: "the Host header names another host than the connection" });
      sendText(response, 421, `this connection is for ${destination.host}; the Host header names another host`);
      return;
    }
    try {
      // Rules that were changed since the connection was made count for its next request.
      const rule = gateway.headerRules.find(destination.host) ?? {};
      const headers = applyHeaders(withHost(withoutHopByHop(request), request.headers.host ?? ""), rule, gateway.readSecret);
      forward({ request, response, agent, headers, entry, destination, timeouts: this.#timeouts });
    } catch (error) {
      noteFailure(entry, error);
      sendText(response, 502, SandboxError.isInstance(error) ? error.message : "the request could not be sent on");
    }
  }
}

interface Forwarding {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly agent: HttpsAgent;
  readonly headers: string[];
  readonly entry: AccessEntry;
  readonly destination: Destination;
  readonly timeouts: EgressTimeouts;
}

function forward({ request, response, agent, headers, entry, destination, timeouts }: Forwarding): void {
  const path = request.url ?? "/";
  const upstream = openRequest({ method: request.method ?? "GET", host: destination.host, port: destination.port, path, headers, agent });
  limitAnswer(upstream, timeouts);
  upstream.on("response", (answer) => {
    Object.assign(entry, { decision: "allowed", reason: "a header rule names the host" });
    passBack(answer, response, entry);
  });
  upstream.on("error", (error) => {
    if (response.headersSent) {
      response.socket?.destroy();
      return;
    }
    const status = noteFailure(entry, error);
    sendText(response, status === 500 ? 502 : status, `${destination.host} did not answer: ${error.message}`);
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

/** Speak TLS to the guest in the name of the host, and serve the requests inside. */
export function intercept(interception: Interception, server: InterceptionServer): void {
  const { channel, gateway, destination, entry } = interception;
  const isName = parseAddress(destination.host) === undefined;
  const giveContext = (name: string, give: (error: Error | null, context?: SecureContext) => void) => {
    if (name.toLowerCase() === destination.host) give(null, gateway.authority.contextFor(destination.host));
    else give(new Error("the server name is another host than the connection"));
  };
  const secure = new TLSSocket(channel, {
    isServer: true,
    secureContext: gateway.authority.contextFor(destination.host),
    SNICallback: giveContext,
    ALPNProtocols: ["http/1.1"],
  });
  const timer = setTimeout(() => secure.destroy(), HANDSHAKE_TIMEOUT_MS);
  const onFailure = () => {
    clearTimeout(timer);
    if (entry.decision === "allowed" && !isServed) {
      Object.assign(entry, {
        decision: "denied",
        reason: "no TLS for this host, or TLS for another, came on a connection with header rules",
      });
    }
    secure.destroy();
    channel.destroy();
  };
  let isServed = false;
  secure.on("error", onFailure).once("close", onFailure);
  secure.once("secure", () => {
    clearTimeout(timer);
    // A name must be said: without it the guest may mean any host behind the address.
    if (isName && secure.servername !== destination.host) {
      onFailure();
      return;
    }
    isServed = true;
    server.serve(secure, interception);
  });
  secure.once("close", () => {
    Object.assign(entry, {
      bytesSent: channel.bytesRead,
      bytesReceived: channel.bytesWritten,
      durationMs: Date.now() - entry.at.getTime(),
    });
  });
}

function namesHost(header: string | undefined, { host, port }: Destination): boolean {
  const literal = host.includes(":") ? `[${host}]` : host;
  const said = header?.toLowerCase();
  return said === literal || said === `${literal}:${port}`;
}
