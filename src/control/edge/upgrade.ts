import { type ClientRequestArgs, type IncomingMessage, request as openRequest, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { sendJsonOnSocket } from "../rest/json-answer.js";
import type { SandboxLink } from "../sandbox-link.js";
import { MAX_HEAD_BYTES } from "./answer-head.js";
import { brokenUpstream, sandboxNotFound } from "./edge-answer.js";
import { toClientHeaders, toUpstreamHeaders } from "./forward-headers.js";
import { DAEMON_PORT } from "./route.js";

/** A request for another protocol (WebSocket) on its way through the edge. */
export interface UpgradeExchange {
  readonly request: IncomingMessage;
  readonly client: Socket;
  /** What the client sent behind its request. */
  readonly head: Buffer;
  readonly link: SandboxLink;
  readonly port: number;
  /** Host header for the program behind the port, in place of the real one. */
  readonly appHost?: string | undefined;
}

/**
 * Pass an upgrade to the sandbox. Only after its 101 do bytes flow unseen; another answer is passed back and ends the connection, so that
 * no second request slips through unchecked.
 */
export function forwardUpgrade({ request, client, head, link, port, appHost }: UpgradeExchange, tunnel?: Socket): void {
  const isDaemon = port === DAEMON_PORT;
  const options: ClientRequestArgs = {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: [...toUpstreamHeaders(request, isDaemon, appHost), "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""],
    maxHeaderSize: MAX_HEAD_BYTES,
    ...(tunnel === undefined ? { agent: link.agent } : { createConnection: () => tunnel }),
  };
  const upstream = openRequest(options);
  const release = link.onSever(() => {
    upstream.destroy();
    client.resetAndDestroy();
  });
  client.on("error", () => client.destroy());
  client.on("close", () => {
    release();
    upstream.destroy();
  });
  upstream.on("upgrade", (answer, socket, answerHead) => {
    client.write(toHead(answer));
    if (answerHead.length > 0) client.write(answerHead);
    if (head.length > 0) socket.write(head);
    joinStreams(client, socket);
  });
  upstream.on("response", (answer) => {
    client.write(toHead(answer, "Connection: close\r\n"));
    answer.pipe(client);
  });
  upstream.on("error", () => {
    const { status, body } = isDaemon ? sandboxNotFound(link.sandboxId) : brokenUpstream(link.sandboxId, port);
    if (client.bytesWritten === 0) sendJsonOnSocket(client, status, body);
    else client.resetAndDestroy();
  });
  upstream.end();
}

/** Carry bytes both ways; each side's end reaches the other, an error breaks both. */
function joinStreams(client: Socket, upstream: Duplex): void {
  const onError = (error: NodeJS.ErrnoException | null) => {
    if (error === null || error === undefined) return;
    client.resetAndDestroy();
    upstream.destroy();
  };
  pipeline(client, upstream, onError);
  pipeline(upstream, client, onError);
}

function toHead(answer: IncomingMessage, extra = ""): string {
  const isSwitch = answer.statusCode === 101;
  const headers = isSwitch ? answer.rawHeaders : toClientHeaders(answer).filter((_, index, all) => !isTransferEncoding(all, index));
  let text = `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage || (STATUS_CODES[answer.statusCode ?? 0] ?? "")}\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}${extra}\r\n`;
}

/** The body is written as it is and ends with the connection. */
function isTransferEncoding(headers: readonly string[], index: number): boolean {
  return headers[index - (index % 2)]?.toLowerCase() === "transfer-encoding";
}
