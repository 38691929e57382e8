import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type AnswerHead, parseAnswerHead } from "./answer-head.js";
import type { BulkConnection, BulkReader } from "./bulk-connection.js";
import { sandboxNotFound } from "./edge-answer.js";
import { breakOff, type Exchange, forward } from "./forward.js";
import { type RawHeaders, toUpstreamHeaders } from "./forward-headers.js";

const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";

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
  new BulkDownload(exchange, connection, response.socket).start();
}

class BulkDownload implements BulkReader {
  readonly #exchange: Exchange;
  readonly #connection: BulkConnection;
  readonly #client: Socket;
  readonly #release: () => void;
  readonly #onClose = () => this.#abandon();
  #headBytes = Buffer.alloc(0);
  #head: AnswerHead | undefined;
  #bytesLeft = 0;
  #isPaused = false;

  constructor(exchange: Exchange, connection: BulkConnection, client: Socket) {
    this.#exchange = exchange;
    this.#connection = connection;
    this.#client = client;
    this.#release = exchange.link.onSever(() => this.#fail());
  }

  start(): void {
    const { request, response } = this.#exchange;
    response.on("close", this.#onClose);
    this.#connection.send(toRequestText(request.url ?? "/", toUpstreamHeaders(request, true)), this);
  }

  onBytes(bytes: Buffer): boolean {
    if (this.#head !== undefined) return this.#passOn(bytes);
    this.#headBytes = Buffer.concat([this.#headBytes, bytes]);
    const end = this.#headBytes.indexOf(HEAD_END);
    if (end < 0) {
      if (this.#headBytes.length <= MAX_HEAD_BYTES) return true;
      this.#fail();
      return false;
    }
    return this.#startAnswer(this.#headBytes.toString("latin1", 0, end), this.#headBytes.subarray(end + HEAD_END.length));
  }

  onEnd(): void {
    this.#fail();
  }

  #startAnswer(headText: string, rest: Buffer): boolean {
    const { response } = this.#exchange;
    let head: AnswerHead;
    try {
      head = parseAnswerHead(headText);
    } catch {
      this.#fail();
      return false;
    }
    if (head.bodyBytes === undefined) {
      this.#detach();
      this.#connection.destroy();
      forward(this.#exchange);
      return false;
    }
    this.#head = head;
    this.#bytesLeft = head.bodyBytes;
    response.sendDate = false;
    response.writeHead(head.status, head.statusText, head.headers);
    // The body goes to the socket itself: a write through the response is corked, so its buffer could not be used again at once.
    response.flushHeaders();
    if (this.#bytesLeft > 0) return rest.length === 0 || this.#passOn(rest);
    if (rest.length === 0) this.#finish();
    else this.#fail();
    return rest.length === 0;
  }

  #passOn(bytes: Buffer): boolean {
    if (bytes.length > this.#bytesLeft) {
      this.#fail();
      return false;
    }
    this.#bytesLeft -= bytes.length;
    const isLast = this.#bytesLeft === 0;
    this.#client.write(bytes, (error) => {
      if (error) return;
      if (isLast) this.#finish();
      else if (this.#isPaused) {
        this.#isPaused = false;
        this.#connection.resume();
      }
    });
    // Nothing queued: the kernel has the bytes, and the buffer is free for the next read.
    this.#isPaused = this.#client.writableLength > 0;
    return !this.#isPaused;
  }

  #finish(): void {
    this.#detach();
    this.#connection.release();
    if (this.#head?.isKeptAlive) this.#exchange.link.returnBulkConnection(this.#connection);
    else this.#connection.destroy();
    if (this.#isPaused) this.#connection.resume();
    this.#exchange.response.end();
  }

  /** The client left. */
  #abandon(): void {
    this.#release();
    this.#connection.destroy();
  }

  /** The daemon left, or does not keep to the protocol. */
  #fail(): void {
    this.#detach();
    this.#connection.destroy();
    breakOff(this.#exchange.response, sandboxNotFound(this.#exchange.link.sandboxId));
  }

  #detach(): void {
    this.#release();
    this.#exchange.response.off("close", this.#onClose);
  }
}

function toRequestText(target: string, headers: RawHeaders): string {
  let text = `GET ${target} HTTP/1.1\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}Connection: keep-alive\r\n\r\n`;
}
