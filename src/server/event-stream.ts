import type { ServerResponse } from "node:http";
import { drained } from "../shared/drained-node.js";
import type { ServerEvent } from "./route.js";

const KEEPALIVE_MS = 15_000;

/**
 * Send events as they come, at the pace of the client (WHATWG HTML, "Server-sent events"). Silence is filled with comments. The source is
 * ended when the client leaves; a source that fails cuts the stream, so that nobody takes it for its end.
 */
export async function sendEvents(res: ServerResponse, source: AsyncIterable<ServerEvent>): Promise<void> {
  res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no" });
  res.flushHeaders();
  const keepalive = setInterval(() => {
    if (!res.writableNeedDrain) res.write(": keepalive\n\n");
  }, KEEPALIVE_MS);
  try {
    for await (const { event, data } of source) {
      if (res.destroyed) return;
      if (!res.write(encodeEvent(event, data))) await drained(res);
    }
    res.end();
  } catch (error) {
    res.destroy();
    throw error;
  } finally {
    clearInterval(keepalive);
  }
}

function encodeEvent(event: string | undefined, data: unknown): string {
  // JSON has no raw line ends, so the data is one line.
  const name = event === undefined ? "" : `event: ${event.replace(/[\r\n]/g, " ")}\n`;
  return `${name}data: ${JSON.stringify(data) ?? "null"}\n\n`;
}
