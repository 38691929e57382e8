import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type AnswerBody, type BodyPart, createChunkedBody, createSizedBody } from "./answer-body.js";
import { type AnswerHead, MAX_HEAD_BYTES, parseAnswerHead } from "./answer-head.js";
import type { BulkConnection, BulkReader } from "./bulk-connection.js";
import { brokenUpstream, type EdgeAnswer, sandboxNotFound } from "./edge-answer.js";
import { flushHead } from "./flush-head.js";
import { breakOff, type Exchange } from "./forward.js";
import { type RawHeaders, toUpstreamHeaders } from "./forward-headers.js";
import { DAEMON_PORT } from "./route.js";

const HEAD_END = "\r\n\r\n";

/** Takes over an answer of another kind than {@link BulkAnswer} passes, with the connection and what came on it. */
export type OnOtherAnswer = (connection: BulkConnection, received: Buffer) => void;

/** Passes an answer of a daemon or a port to the client through one buffer that is used again and again. */
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

  readonly #onOther: OnOtherAnswer | undefined;

  /** Without `onOther` an answer of another kind is a failure. */
  constructor(exchange: Exchange, connection: BulkConnection, client: Socket, onOther?: OnOtherAnswer) {
    this.#onOther = onOther;
    this.#exchange = exchange;
    this.#connection = connection;
    this.#client = client;
    this.#release = exchange.link.onSever(() => this.#fail());
  }

  /** Send the request, with `body`. */
  start(body: Buffer): void {
    const { request, response, appHost } = this.#exchange;
    response.on("close", this.#onClose);
    const headers = toUpstreamHeaders(request, this.#isOfDaemon, appHost);
    this.#connection.send(toHeadText(request, headers, this.#isOfDaemon), body, this);
  }

  onBytes(bytes: Buffer): boolean {
    if (this.#body !== undefined) return this.#passOn(bytes);
    this.#headBytes = Buffer.concat([this.#headBytes, bytes]);
    const end = this.#headBytes.indexOf(HEAD_END);
    if (end > MAX_HEAD_BYTES || (end < 0 && this.#headBytes.length > MAX_HEAD_BYTES)) return this.#failNow();
    if (end < 0) return true;
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
      // A daemon keeps to the rules; what a program behind a port means is for the general way to find out.
      return this.#isOfDaemon ? this.#failNow() : this.#passOver();
    }
    const body = head.bodyBytes !== undefined ? createSizedBody(head.bodyBytes) : head.isChunked ? createChunkedBody() : undefined;
    if (body === undefined || (head.isChunked && this.#onOther !== undefined)) return this.#passOver();
    this.#body = body;
    this.#isKeptAlive = head.isKeptAlive;
    response.sendDate = false;
    // Head and first bytes share a packet.
    this.#client.cork();
    response.writeHead(head.status, head.statusText, head.isChunked ? [...head.headers, "Transfer-Encoding", "chunked"] : head.headers);
    // The body goes to the socket itself: a write through the response is corked, so its buffer could not be used again at once.
    flushHead(response);
    const goesOn = this.#passOn(rest);
    this.#client.uncork();
    return goesOn;
  }

  #passOver(): boolean {
    if (this.#onOther === undefined) return this.#failNow();
    this.#detach();
    this.#connection.release();
    this.#onOther(this.#connection, this.#headBytes);
    return false;
  }

  #failNow(): boolean {
    this.#fail();
    return false;
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
    if (this.#isKeptAlive && this.#isOfDaemon) this.#exchange.link.returnBulkConnection(this.#connection);
    else this.#connection.destroy();
    if (this.#isPaused) this.#connection.resume();
    this.#exchange.response.end();
  }

  /** The client left. */
  #abandon(): void {
    this.#release();
    this.#connection.destroy();
  }

  /** The peer left, or does not keep to the protocol. */
  #fail(): void {
    const { response, link, port } = this.#exchange;
    this.#detach();
    this.#connection.destroy();
    const answer: EdgeAnswer = this.#isOfDaemon || link.isSevered ? sandboxNotFound(link.sandboxId) : brokenUpstream(link.sandboxId, port);
    breakOff(response, answer);
  }

  get #isOfDaemon(): boolean {
    return this.#exchange.port === DAEMON_PORT;
  }

  #detach(): void {
    this.#release();
    this.#exchange.response.off("close", this.#onClose);
  }
}

function toHeadText({ method, url }: IncomingMessage, headers: RawHeaders, isKept: boolean): string {
  let text = `${method} ${url ?? "/"} HTTP/1.1\r\n`;
  for (let index = 0; index < headers.length; index += 2) text += `${headers[index]}: ${headers[index + 1]}\r\n`;
  return `${text}Connection: ${isKept ? "keep-alive" : "close"}\r\n\r\n`;
}
