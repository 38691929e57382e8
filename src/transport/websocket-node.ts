import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { ConnectionError } from "../errors/error-classes.js";
import { concatBytes } from "../shared/concat-bytes.js";
import type { HttpResponse } from "./http.js";
import { createProxyAgents } from "./proxy-agent-node.js";
import { RefusedUpgrade, type WebSocketConnection, type WebSocketOpener, type WebSocketRequest } from "./websocket.js";

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** WebSockets over the package `ws`, which is loaded with the first one: it costs more than the rest of a client together. */
export function createNodeWebSocketOpener(options: { readonly proxy?: string | undefined }): WebSocketOpener {
  return {
    sendsHeaders: true,
    async open(request) {
      const { WebSocket } = await import("ws");
      request.signal.throwIfAborted();
      const agents = options.proxy === undefined ? undefined : createProxyAgents(options.proxy, {});
      const agent = request.url.startsWith("wss:") ? agents?.https : agents?.http;
      const socket = new WebSocket(request.url, {
        headers: { ...request.headers },
        perMessageDeflate: false,
        maxPayload: MAX_MESSAGE_BYTES,
        ...(agent !== undefined && { agent }),
      });
      return connected(socket, request);
    },
  };
}

function connected(socket: WebSocket, { url, signal, handlers }: WebSocketRequest): Promise<WebSocketConnection> {
  return new Promise((resolve, reject) => {
    let isOver = false;
    let cause: unknown;
    const drop = (reason: unknown) => {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener("abort", onAbort);
      reject(reason);
      socket.terminate();
    };
    const onAbort = () => drop(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("message", (data: Buffer, isBinary) => {
      if (isOver) return;
      if (isBinary) handlers.onBytes(data);
      else handlers.onText(data.toString("utf8"));
    });
    socket.on("unexpected-response", (_request, response) => drop(new RefusedUpgrade(toHttpResponse(response))));
    socket.on("error", (error) => {
      cause = error;
    });
    socket.on("close", () => {
      if (isOver) return;
      drop(toConnectionError(url, cause));
      handlers.onClose(cause);
    });
    socket.on("open", () => {
      if (isOver) return;
      resolve({
        send: (data) => void (socket.readyState === socket.OPEN && socket.send(data)),
        drop: () => drop(undefined),
      });
    });
  });
}

function toHttpResponse(incoming: IncomingMessage): HttpResponse {
  incoming.on("error", () => {});
  return {
    status: incoming.statusCode ?? 0,
    header: (name) => {
      const value = incoming.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: incoming,
    bytes: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Uint8Array); // no encoding is set, so chunks are buffers
      return concatBytes(
        chunks,
        chunks.reduce((sum, { length }) => sum + length, 0),
      );
    },
  };
}

/** The URL may hold a ticket, so only its origin is told. */
function toConnectionError(url: string, cause: unknown): ConnectionError {
  const detail = cause instanceof Error ? ("code" in cause && cause.code ? String(cause.code) : cause.message) : "it closed";
  return new ConnectionError(`the connection to ${new URL(url).origin} failed: ${detail}`, { cause });
}
