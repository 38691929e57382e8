import type { IncomingMessage, ServerResponse } from "node:http";
import { toClientHeaders } from "../edge/forward-headers.js";
import type { AccessEntry } from "./access-log.js";

/** Pass the answer of a host back, as a stream. */
export function passBack(answer: IncomingMessage, response: ServerResponse, entry: AccessEntry): void {
  entry.status = answer.statusCode ?? 0;
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, toClientHeaders(answer));
  setImmediate(() => {
    if (!response.writableEnded) response.flushHeaders();
  });
  answer.on("data", (chunk: Buffer) => {
    entry.bytesReceived += chunk.length;
  });
  // A body that is cut short must not look complete.
  answer.on("error", () => response.destroy());
  answer.on("aborted", () => response.socket?.destroy());
  answer.pipe(response);
}

/** Answer with the reason as text. */
export function sendText(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "x-agent-sandbox-egress": status === 403 ? "denied" : "failed",
    connection: "close",
  });
  response.end(body);
}

/** Headers whose `Host` is that of the URL, as RFC 9112 section 3.2.2 asks of proxies. */
export function withHost(headers: readonly string[], host: string): string[] {
  const kept = headers.filter((_, index) => (headers[index - (index % 2)] ?? "").toLowerCase() !== "host");
  return ["Host", host, ...kept];
}
