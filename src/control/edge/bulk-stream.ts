import type { IncomingMessage } from "node:http";
import { BulkAnswer } from "./bulk-answer.js";
import type { BulkConnection } from "./bulk-connection.js";
import { sandboxNotFound } from "./edge-answer.js";
import { breakOff, type Exchange } from "./forward.js";

/** Calls whose answer is the output of a process. */
const STREAMS = new Set([
  "/agentsandbox.process.v1.ProcessService/Start",
  "/agentsandbox.process.v1.ProcessService/Attach",
  "/process.Process/Start",
  "/process.Process/Connect",
]);
/** Larger requests take the general way, which does not hold them. */
const MAX_REQUEST_BYTES = 256 * 1024;

/** True for a call whose answer may be a large stream and whose request is small. */
export function isBulkStream({ request, response }: Exchange): boolean {
  const { method, url, headers, httpVersion } = request;
  const length = Number(headers["content-length"] ?? Number.NaN);
  const isStream = method === "POST" && httpVersion === "1.1" && url !== undefined && STREAMS.has(url);
  // With pipelined requests the connection to the client may still belong to an earlier answer.
  return isStream && length <= MAX_REQUEST_BYTES && headers["transfer-encoding"] === undefined && response.socket !== null;
}

/** Pass the output of a process to the client without a copy of our own. */
export async function forwardStream(exchange: Exchange): Promise<void> {
  const { request, response, link } = exchange;
  let body: Buffer;
  let connection: BulkConnection;
  try {
    body = await readBody(request);
  } catch {
    // The client left in the middle of its request.
    response.destroy();
    return;
  }
  try {
    connection = await link.takeBulkConnection();
  } catch {
    breakOff(response, sandboxNotFound(link.sandboxId));
    return;
  }
  if (response.destroyed || response.socket === null) connection.destroy();
  else new BulkAnswer(exchange, connection, response.socket).start(body);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks);
}
