import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type AnswerBody, type BodyPart, createChunkedBody, createSizedBody } from "./answer-body.js";
import { type AnswerHead, parseAnswerHead } from "./answer-head.js";
import type { BulkConnection, BulkReader } from "./bulk-connection.js";
import { sandboxNotFound } from "./edge-answer.js";
import { breakOff, type Exchange } from "./forward.js";
import { type RawHeaders, toUpstreamHeaders } from "./forward-headers.js";

const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";

/** Passes an answer of a daemon to the client through one buffer that is used again and again. */
export class BulkAnswer implements BulkReader {
  readonly #exchange: Exchange;
  readonly #connection: BulkConnection;
  readonly #client: Socket;
  readonly #release: () => void;
  readonly #onClose = () => this.#abandon();
  #headBytes = Buffer.alloc(0);
  #isKeptAlive = false;
  #body: AnswerBody | undefined;
  #isPaused = false;

  readonly #onOther: (() => void) | undefined;

  /** @param onOther takes over when the answer is of another kind than this class passes; without it such an answer is a failure. */
  constructor(exchange: Exchange, connection: BulkConnection, client: Socket, onOther?: () => void) {
    this.#onOther = onOther;
    this.#exchange = exchange;
    this.#connection = connection;
    this.#client = client;
    this.#release = exchange.link.onSever(() => this.#fail());
  }

  /** Send the request, with `body`. */
  start(body: Buffer): void {
    const { request, response } = this.#exchange;
    response.on("close", this.#onClose);
    this.#connection.send(toHeadText(request, toUpstreamHeaders(request, true)), body, this);
  }

  onBytes(bytes: Buffer): boolean {
    if (this.#body !== undefined) return this.#passOn(bytes);
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
    const body = head.bodyBytes !== undefined ? createSizedBody(head.bodyBytes) : head.isChunked ? createChunkedBody() : undefined;
    if (body === undefined || (head.isChunked && this.#onOther !== undefined)) {
      if (this.#onOther === undefined) {
        this.#fail();
        return false;
      }
      this.#detach();
      this.#connection.destroy();
      this.#onOther();
      return false;
    }
    this.#body = body;
    this.#isKeptAlive = head.isKeptAlive;
    response.sendDate = false;
    // Head and first bytes share a packet.
    this.#client.cork();
    response.writeHead(head.status, head.statusText, head.isChunked ? [...head.headers, "Transfer-Encoding", "chunked"] : head.headers);
    // The body goes to the socket itself: a write through the response is corked, so its buffer could not be used again at once.
    response.flushHeaders();
    const goesOn = this.#passOn(rest);
    this.#client.uncork();
    return goesOn;
  }

  #passOn(bytes: Buffer): boolean {
    let part: BodyPart;
    try {
      // The body is set before anything is passed on.
      part = (this.#body as AnswerBody).take(bytes);
    } catch {
      this.#fail();
      return false;
    }
    const { pass, isEnd } = part;
    if (pass.length === 0) {
      if (isEnd) this.#finish();
      return true;
    }
    for (const [index, piece] of pass.entries()) {
      this.#client.write(piece, (error) => {
        if (error || index < pass.length - 1) return;
        if (isEnd) this.#finish();
        else if (this.#isPaused) {
          this.#isPaused = false;
          this.#connection.resume();
        }
      });
    }
    // Nothing queued: the kernel has the bytes, and the buffer is free for the next read.
    this.#isPaused = this.#client.writableLength > 0;
    return !this.#isPaused;
  }

  #finish(): void {
    this.#detach();
    this.#connection.release();
    if (this.#isKeptAlive) this.#exchange.link.returnBulkConnection(this.#connection);
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

function toHeadText({ method, url }: IncomingMessage, headers: RawHeaders): string {
  let text = `${method} ${url ?? "/"} HTTP/1.1\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}Connection: keep-alive\r\n\r\n`;
}
