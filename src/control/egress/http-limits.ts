import type { ClientRequest, IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { TimeoutError } from "../../errors/error-classes.js";

/** How long the proxy waits. */
export interface EgressTimeouts {
  /** Milliseconds for the head of a request, from its first byte or the end of the one before. */
  readonly headMs: number;
  /** Milliseconds of silence after which a tunnel or an exchange is given up; an answer that has not begun by then is none. */
  readonly idleMs: number;
}

export const EGRESS_TIMEOUTS: EgressTimeouts = { headMs: 30_000, idleMs: 60 * 60_000 };

/**
 * Bound what a guest can hold open on a server that never listens, for Node looks after these times only on servers that do. A head that drips
 * in byte by byte has no longer than one that does not come.
 */
export function limitRequests(server: Server, { headMs, idleMs }: EgressTimeouts): void {
  const timers = new WeakMap<Duplex, NodeJS.Timeout>();
  /** Requests that were read and not answered. */
  const pending = new WeakMap<Duplex, number>();
  const awaitHead = (connection: Duplex) => timers.set(connection, setTimeout(() => connection.destroy(), headMs).unref());
  const stop = (connection: Duplex) => clearTimeout(timers.get(connection));

  // A guest that waits for an answer is silent as long as the host is, and should still be told.
  server.timeout = 2 * idleMs;
  server.requestTimeout = 0;
  // Clients are told of a little less, so that none begins a request in the last moment.
  server.keepAliveTimeout = Math.floor(headMs * 0.9);
  server.on("connection", (connection) => {
    awaitHead(connection);
    connection.once("close", () => stop(connection));
  });
  server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    stop(socket);
    pending.set(socket, (pending.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (pending.get(socket) ?? 1) - 1;
      pending.set(socket, left);
      if (left === 0 && !socket.destroyed) awaitHead(socket);
    });
  });
  // A tunnel has no more heads, and its own idea of silence.
  server.on("connect", (request: IncomingMessage) => {
    stop(request.socket);
    request.socket.setTimeout(0);
  });
}

/** Give up a host that says nothing, or that has not finished the head of its answer, after `idleMs`. */
export function limitAnswer(upstream: ClientRequest, { idleMs }: EgressTimeouts): void {
  const giveUp = () => upstream.destroy(new TimeoutError(`the host did not answer within ${idleMs / 1000} s`, { timeout: "request" }));
  upstream.setTimeout(idleMs, giveUp);
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  upstream.once("finish", () => {
    timer = setTimeout(giveUp, idleMs).unref();
  });
  upstream.once("response", stop).once("close", stop);
}
