import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FailedPreconditionError } from "../errors/error-classes.js";
import { messageOf } from "../shared/message-of.js";
import { STREAM_BUFFER_BYTES } from "../shared/stream-buffer.js";
import type { EdgeProxy, EdgeTarget } from "./edge/edge-proxy.js";
import { DAEMON_PORT, type Route, routeRequest } from "./edge/route.js";
import { findSignedSandbox } from "./edge/signed-files.js";
import type { Logger } from "./logger.js";
import { errorAnswer, sendJson, sendJsonOnSocket } from "./rest/json-answer.js";
import type { RestServer } from "./rest/rest-server.js";
import type { Sandboxes } from "./sandboxes.js";
import type { RequestWatch, WatchedRequest } from "./telemetry/request-watch.js";
import type { VolumeContentServer } from "./volumes/volume-content-server.js";

/** Longer than any client keeps an idle connection, so that the client closes first. */
const KEEP_ALIVE_MS = 640_000;
/** After so long a silence the peer is asked whether it is there, since a stream may be silent for good and one that died says nothing. */
const PROBE_AFTER_MS = 30_000;
/** Whole head of a request; the longest file URL fits several times. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Services and endpoints of the daemon; ids stand in none of them. */
const DAEMON_PATH = /^\/[A-Za-z][A-Za-z0-9.]{0,63}(?:\/[A-Za-z]{1,32}){0,2}$/;
const VOLUME_ROUTE = "/volumecontent/{volumeID}";

export interface PlatformServerParts {
  readonly rest: RestServer;
  readonly volumeContent: VolumeContentServer;
  readonly edge: EdgeProxy;
  readonly sandboxes: Sandboxes;
  /** Domain of the sandboxes' hosts, without a port. */
  readonly domain: string;
  readonly logger: Logger;
  readonly watch: RequestWatch;
  /** Called for every request. */
  readonly onRequest: () => void;
}

/** The one TCP listener: the API and the edge, told apart by host name and headers. */
export class PlatformServer {
  readonly #parts: PlatformServerParts;
  readonly #server: Server;
  /** Connections on which an answer is under way. */
  readonly #answering = new WeakSet<Duplex>();

  constructor(parts: PlatformServerParts) {
    this.#parts = parts;
    // Streams may be silent for as long as they like; the head of a request may not.
    this.#server = createServer({
      requestTimeout: 0,
      headersTimeout: 60_000,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      highWaterMark: STREAM_BUFFER_BYTES,
      shouldUpgradeCallback: isSwitchWanted,
    });
    this.#server.timeout = 0;
    this.#server.on("request", (request, response) => this.#guard(this.#onRequest(request, response), request.socket));
    this.#server.on("upgrade", (request, socket, head) => this.#guard(this.#onUpgrade(request, socket as Socket, head), socket));
    this.#server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
      const { status, body } = errorAnswer(417, "no expectation but 100-continue can be met", "invalid_argument");
      sendJson(response, status, body, { connection: "close" });
    });
    this.#server.on("connect", (_request, socket) => {
      const { status, body } = errorAnswer(405, "CONNECT is not served", "method_not_allowed");
      sendJsonOnSocket(socket, status, body);
    });
    this.#server.on("clientError", (error, socket) => this.#onClientError(error, socket));
  }

  /**
   * Listen on the first of the ports that is free.
   *
   * @returns the port.
   * @throws {@link FailedPreconditionError} the last one too is taken or not allowed.
   */
  async listenOnOneOf([port = 0, ...others]: readonly number[], host: string): Promise<number> {
    try {
      return await this.#listen(port, host);
    } catch (error) {
      if (others.length === 0) throw error;
      return this.listenOnOneOf(others, host);
    }
  }

  #listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", (cause) => {
        reject(new FailedPreconditionError(`cannot listen on ${host}:${port}: ${cause.message}; choose another --port`, { cause }));
      });
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port));
    });
  }

  /** Stop listening and break what is open. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => response.destroy());
    this.#parts.onRequest();
    this.#answering.add(request.socket);
    response.on("close", () => this.#answering.delete(request.socket));
    const watched = this.#parts.watch.begin(request, response);
    const route = this.#route(request);
    if (route.kind === "refused") {
      const { status, body } = refusal(route);
      sendJson(response, status, body, { connection: "close" });
      return;
    }
    if (route.kind === "platform" && this.#parts.volumeContent.serves(request.url ?? "")) {
      watched?.learn({ route: VOLUME_ROUTE });
      await this.#parts.volumeContent.handle(request, response);
      return;
    }
    const target = route.kind === "sandbox" ? route : await this.#signedTarget(request);
    if (target === undefined) {
      await this.#parts.rest.handle(request, response, watched);
      return;
    }
    learnTarget(watched, request, target);
    await this.#parts.edge.handle(request, response, target);
  }

  async #onUpgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on("error", () => socket.destroy());
    const watched = this.#parts.watch.beginUpgrade(request, socket);
    const route = this.#route(request);
    if (route.kind === "sandbox") {
      learnTarget(watched, request, route);
      await this.#parts.edge.handleUpgrade(request, socket, head, route);
      return;
    }
    const { status, body } =
      route.kind === "refused"
        ? refusal(route)
        : errorAnswer(400, "the platform's own API has no other protocol to switch to", "invalid_argument");
    sendJsonOnSocket(socket, status, body);
  }

  #route(request: IncomingMessage): Route {
    const target = request.url ?? "";
    if (!target.startsWith("/") && target !== "*") return { kind: "refused", status: 400, message: "the request target must be a path" };
    return routeRequest(
      {
        host: request.headers.host,
        sandboxId: onlyValue(request.headers["e2b-sandbox-id"]),
        sandboxPort: onlyValue(request.headers["e2b-sandbox-port"]),
        path: target,
      },
      this.#parts.domain,
    );
  }

  async #signedTarget(request: IncomingMessage): Promise<EdgeTarget | undefined> {
    const target = request.url ?? "";
    if (!target.startsWith("/files?")) return undefined;
    const found = await findSignedSandbox(request.method ?? "GET", target, this.#parts.sandboxes.running());
    return found === undefined ? undefined : { sandboxId: found.link.sandboxId, port: DAEMON_PORT };
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // An error text in the middle of an answer would be taken for a part of it.
    if (error.code === "ECONNRESET" || !socket.writable || this.#answering.has(socket)) {
      socket.destroy();
      return;
    }
    const { status, body } = toClientErrorAnswer(error.code);
    sendJsonOnSocket(socket, status, body);
  }

  #guard(work: Promise<void>, socket: Duplex): void {
    work.catch((error: unknown) => {
      this.#parts.logger.error("server.failed", { message: messageOf(error) });
      socket.destroy();
    });
  }
}

/**
 * False for an offer to switch that a server may pass over (RFC 9110, section 7.8), so that its request is an ordinary one: that of HTTP/2,
 * which some clients make with each first request, and one with a body, which would be lost.
 */
function isSwitchWanted({ headers }: IncomingMessage): boolean {
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  const protocols = (headers.upgrade ?? "").split(",").map((name) => name.trim().toLowerCase());
  return !hasBody && protocols.some((name) => name !== "h2c");
}

/** Paths of the daemon are known; those of other ports are the guest's, and may hold anything. */
function learnTarget(watched: WatchedRequest | undefined, request: IncomingMessage, { sandboxId, port }: EdgeTarget): void {
  if (watched === undefined) return;
  const path = port === DAEMON_PORT ? request.url?.split("?", 1)[0] : undefined;
  watched.learn({ sandboxId, port, ...(path !== undefined && DAEMON_PATH.test(path) && { route: path }) });
}

function refusal(route: Extract<Route, { kind: "refused" }>) {
  return errorAnswer(route.status, route.message, route.status === 403 ? "permission_denied" : "invalid_argument");
}

function onlyValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(", ") : header;
}

function toClientErrorAnswer(code: string | undefined) {
  if (code === "HPE_HEADER_OVERFLOW") {
    return errorAnswer(431, `the head of the request is larger than ${MAX_HEADER_BYTES} bytes`, "payload_too_large");
  }
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return errorAnswer(408, "the head of the request did not arrive in time", "timeout");
  return errorAnswer(400, "the request is not valid HTTP", "invalid_argument");
}
