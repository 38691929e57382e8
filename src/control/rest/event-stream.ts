import type { ServerResponse } from "node:http";
import { drained } from "../../shared/drained-node.js";
import type { ServerSentEvent } from "./operation-types.js";

const KEEP_ALIVE_MS = 15_000;

/** Write events as they come until there are no more or the client leaves; a slow client holds up nobody else. */
export async function sendEvents(response: ServerResponse, events: AsyncIterable<ServerSentEvent>): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" });
  response.flushHeaders();
  const keepAlive = setInterval(() => response.write(":\n\n"), KEEP_ALIVE_MS).unref();
  try {
    for await (const { id, type, data } of events) {
      if (response.destroyed) return;
      if (!response.write(`id: ${id}\nevent: ${type}\ndata: ${data}\n\n`)) await drained(response);
    }
    response.end();
  } finally {
    clearInterval(keepAlive);
  }
}
