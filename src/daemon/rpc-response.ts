import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { UniversalServerResponse } from "@connectrpc/connect/protocol";
import { drained } from "../shared/drained-node.js";

/** How long a connection stays after an early answer, so that its client, still sending, can read it. */
const LINGER_MS = 500;

/**
 * Write the answer of an RPC handler as it is produced, waiting for a slow client instead of buffering for it.
 *
 * An answer that comes before the request was read whole (a refused message) is sent at once and closes the connection: waiting for
 * the rest would let a client that sends slowly, or never, hold the answer back.
 */
export async function sendRpcResponse(response: UniversalServerResponse, res: ServerResponse): Promise<void> {
  const body = response.body?.[Symbol.asyncIterator]();
  try {
    // Handlers may set headers until they produce the first chunk.
    let chunk = await body?.next();
    if (res.destroyed) return;
    response.header?.forEach((value, name) => void res.setHeader(name, value));
    if (!res.req.complete) closeAfterwards(res);
    res.writeHead(response.status);
    while (chunk !== undefined && chunk.done !== true) {
      if (!res.write(chunk.value)) await drained(res);
      if (res.destroyed) return;
      chunk = await body?.next();
    }
    if (response.trailer !== undefined) res.addTrailers([...response.trailer]);
    res.end();
  } finally {
    // A stream that the client left ends here; its own failures have no reader any more.
    body?.return?.().catch(() => {});
  }
}

function closeAfterwards(res: ServerResponse): void {
  const socket: Socket | null = res.socket;
  res.setHeader("connection", "close");
  res.req.resume();
  if (socket === null) return;
  // The HTTP server calls this when the answer is written; closing right then resets a client that is still sending.
  socket.destroySoon = () => {
    socket.end();
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
}
