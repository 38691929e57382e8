import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** A loopback HTTP server whose answers a test writes by hand. */
export interface WireServer extends AsyncDisposable {
  readonly url: string;
  /** `METHOD path?query` of each request, in order. */
  readonly requests: string[];
  readonly headers: IncomingMessage["headers"][];
  readonly bodies: string[];
  readonly connectionCount: () => number;
  readonly openConnections: () => number;
}

export type Answer = (req: IncomingMessage, res: ServerResponse, body: Buffer) => void;

export async function openWireServer(answer: Answer): Promise<WireServer> {
  const requests: string[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const bodies: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const listener: RequestListener = (req, res) => {
    const chunks: Buffer[] = [];
    requests.push(`${req.method} ${req.url}`);
    headers.push(req.headers);
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      bodies.push(body.toString());
      answer(req, res, body);
    });
    req.on("error", () => {});
  };
  const server = createServer(listener);
  server.on("connection", (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    headers,
    bodies,
    connectionCount: () => connections,
    openConnections: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answer with JSON. */
export function sendJson(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  res.writeHead(status, { "content-type": "application/json", ...headers });
  res.end(JSON.stringify(body));
}

/** One message of a Connect stream in JSON. */
export function frame(message: unknown, flags = 0): Buffer {
  const data = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

/** The end of a Connect stream. */
export function endFrame(error?: { code: string; message?: string; details?: unknown }): Buffer {
  return frame(error === undefined ? {} : { error }, 2);
}
