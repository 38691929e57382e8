import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

/** Pauses between dial attempts: a server that was just started may need a moment to listen. */
const RETRY_PAUSES_MS = [20, 40, 80, 150, 200];
const LOOPBACK_HOSTS = ["127.0.0.1", "::1"];
/** Bytes of one read from the port. */
const READ_BYTES = 64 * 1024;

/**
 * Answer `CONNECT <host>:<port>`: a raw tunnel to the port on the loopback interface of the sandbox. The host is not looked up: the peer
 * only ever reaches this sandbox.
 *
 * @param head bytes that the client sent behind its request
 */
export async function openTunnel(target: string, client: Duplex, head: Buffer): Promise<void> {
  // The client may leave at any time; the pipes below see it as the end.
  client.on("error", () => client.destroy());
  const port = parsePort(target);
  if (port === undefined) {
    refuse(client, 400, "Bad Request", `CONNECT wants <host>:<port> with a port from 1 to 65535, not '${target.slice(0, 100)}'`);
    return;
  }
  // Read into one buffer again and again: a new one for each read costs more than the rest of the way.
  const onBytes = (bytes: Buffer): boolean => {
    client.write(bytes, onWritten);
    // Nothing queued: the kernel has the bytes, and the buffer is free for the next read.
    return client.writableLength === 0;
  };
  const onWritten = () => {
    if (client.writableLength === 0) upstream?.resume();
  };
  const upstream = await dial(port, client, onBytes);
  if (upstream === undefined) {
    refuse(client, 502, "Bad Gateway", `nothing listens on port ${port} inside the sandbox`, port);
    return;
  }
  if (client.destroyed) {
    upstream.destroy();
    return;
  }
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  if (head.length > 0) upstream.write(head);
  // A finished direction ends the other side's writing only; a broken connection ends both at once.
  client.pipe(upstream);
  upstream.on("end", () => client.end());
  upstream.on("error", () => client.destroy());
  client.on("close", () => upstream.destroy());
  upstream.on("close", () => {
    if (!client.writableFinished && !client.writableEnded) client.destroy();
  });
}

function parsePort(target: string): number | undefined {
  const match = /^(?:\[[^\]]*\]|[^:[\]]+):(\d{1,5})$/.exec(target);
  const port = Number(match?.[1]);
  return port >= 1 && port <= 65_535 ? port : undefined;
}

async function dial(port: number, client: Duplex, onBytes: (bytes: Buffer) => boolean): Promise<Socket | undefined> {
  for (const pauseMs of [0, ...RETRY_PAUSES_MS]) {
    if (pauseMs > 0) await delay(pauseMs);
    if (client.destroyed) return undefined;
    for (const host of LOOPBACK_HOSTS) {
      const socket = await tryConnect(host, port, onBytes);
      if (socket !== undefined) return socket;
    }
  }
  return undefined;
}

function tryConnect(host: string, port: number, onBytes: (bytes: Buffer) => boolean): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const onread = { buffer, callback: (size: number) => onBytes(buffer.subarray(0, size)) };
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true, onread });
    const onError = () => resolve(undefined);
    socket.once("error", onError);
    socket.once("connect", () => {
      socket.off("error", onError);
      // Until the tunnel takes over, a reset must not be an unhandled error.
      socket.on("error", () => {});
      resolve(socket);
    });
  });
}

function refuse(client: Duplex, status: number, reason: string, message: string, port?: number): void {
  const body = JSON.stringify({ code: status, message, ...(port === undefined ? {} : { port }) });
  client.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
