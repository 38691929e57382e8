import type { IncomingMessage } from "node:http";
import { BulkAnswer } from "./bulk-answer.js";
import type { BulkConnection } from "./bulk-connection.js";
import { sandboxNotFound } from "./edge-answer.js";
import { breakOff, type Exchange, forward } from "./forward.js";

/** True for a request whose answer may be large and has a known length: reading a file as it is. */
export function isBulkDownload(request: IncomingMessage): boolean {
  const { method, url = "", headers, httpVersion } = request;
  const isFile = url.startsWith("/files?") && method === "GET" && httpVersion === "1.1";
  const hasBody = headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
  return isFile && !hasBody && !(headers["accept-encoding"] ?? "").includes("gzip");
}

/** Pass a file from the daemon to the client without a copy of our own; falls back to {@link forward} where the length is not known. */
export async function forwardDownload(exchange: Exchange): Promise<void> {
  const { response, link } = exchange;
  let connection: BulkConnection;
  try {
    connection = await link.takeBulkConnection();
  } catch {
    breakOff(response, sandboxNotFound(link.sandboxId));
    return;
  }
  // With pipelined requests the connection to the client may still belong to an earlier answer.
  if (response.socket === null || response.destroyed) {
    connection.destroy();
    if (!response.destroyed) forward(exchange);
    return;
  }
  const again = (used: BulkConnection) => {
    used.destroy();
    forward(exchange);
  };
  new BulkAnswer(exchange, connection, response.socket, again).start(Buffer.alloc(0));
}
