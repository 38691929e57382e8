import type { RawData, WebSocket } from "ws";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";
import type { ManagedProcess } from "../process/managed-process.js";
import { joinPiece } from "../process/output-cursor.js";
import type { OutputLog } from "../process/output-log.js";
import { type ClientFrame, parseClientFrame, type ServerFrame, type TerminalStart, toErrorFrame, toExitFrame } from "./frames.js";
import type { SessionHolder, TerminalSession } from "./terminal-session.js";

/** A terminal to serve, and how. */
export interface Attachment {
  readonly process: ManagedProcess;
  readonly session: TerminalSession;
  /** First wanted byte; `undefined` what comes next. */
  readonly fromOffset: number | undefined;
}

/** Where the terminal of a connection comes from. */
export type Opening =
  | { readonly isKnown: true; open(): Promise<Attachment> }
  /** The first frame is `start`. */
  | { readonly isKnown: false; open(start: TerminalStart): Promise<Attachment> };

export interface ConnectionOptions {
  /** Most bytes under way without an acknowledgement; `undefined` leaves it to the connection. */
  readonly windowBytes: number | undefined;
  readonly opening: Opening;
}

const MAX_FRAME_BYTES = 64 * 1024;
const MAX_BUFFERED_BYTES = 256 * 1024;
const PING_MS = 20_000;
const SILENCE_MS = 60_000;
/** How long the output is kept for a client that lost its connection. */
const HOLD_MS = 5_000;

/** One WebSocket on one terminal: what goes over it in both directions. It ends with its socket; the terminal goes on. */
export class TerminalConnection implements SessionHolder {
  readonly #socket: WebSocket;
  readonly #options: ConnectionOptions;
  readonly #heartbeat: NodeJS.Timeout;
  #attachment: Attachment | undefined;
  #cursor: ReturnType<OutputLog["openCursor"]> | undefined;
  /** Offset of the next binary frame in the input of the session, when the client says it. */
  #inputOffset: number | undefined;
  #sentOffset = 0;
  #ackedOffset = 0;
  #isOpening = false;
  #isOver = false;
  #heardAtMs = performance.now();

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    socket.on("message", (data, isBinary) => this.#guard(() => this.#onMessage(data, isBinary)));
    socket.on("pong", () => this.#heard());
    socket.on("ping", () => this.#heard());
    // What is wrong with the connection shows in its end.
    socket.on("error", () => {});
    socket.on("close", (code) => this.#onClose(code));
    this.#heartbeat = setInterval(() => this.#beat(), PING_MS);
    this.#heartbeat.unref();
    const { opening } = options;
    if (opening.isKnown) void this.#open(() => opening.open());
  }

  /** Break the connection: the daemon ends. */
  terminate(): void {
    this.#socket.terminate();
  }

  onDelivered(): void {
    const session = this.#attachment?.session;
    if (session !== undefined) this.#send({ type: "ack", input_offset: session.deliveredBytes });
  }

  onInputFailed(error: unknown): void {
    this.#send(toErrorFrame(error, "input"));
  }

  onReplaced(): void {
    this.#isOver = true;
    this.#socket.terminate();
  }

  #heard(): void {
    this.#heardAtMs = performance.now();
  }

  #beat(): void {
    if (performance.now() - this.#heardAtMs > SILENCE_MS) this.#socket.terminate();
    else this.#socket.ping();
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.#heard();
    if (this.#isOver) return;
    // Messages are single buffers: the binary type of the socket is the default one.
    const bytes = data as Buffer;
    if (isBinary) this.#onInput(bytes);
    else this.#onFrame(parseClientFrame(bytes.toString("utf8")));
  }

  #onInput(bytes: Buffer): void {
    this.#ready.session.write(bytes, this.#inputOffset);
    if (this.#inputOffset !== undefined) this.#inputOffset += bytes.length;
  }

  #onFrame(frame: ClientFrame): void {
    switch (frame.type) {
      case "start": {
        const { opening } = this.#options;
        if (opening.isKnown || this.#isOpening) throw new InvalidArgumentError("start is only for the first frame of a new terminal");
        void this.#open(() => opening.open(frame));
        return;
      }
      case "ping":
        this.#send({ type: "pong" });
        return;
      case "input_at":
        this.#inputOffset = frame.offset;
        return;
      case "ack":
        if (frame.offset > this.#sentOffset) throw new InvalidArgumentError(`ack of ${frame.offset}, but ${this.#sentOffset} was sent`);
        this.#ackedOffset = Math.max(this.#ackedOffset, frame.offset);
        this.#pump();
        return;
      case "resize":
        this.#request("resize", () => {
          const { cols, rows } = frame;
          this.#ready.process.resize(cols, rows);
          this.#send({ type: "resized", cols, rows });
        });
        return;
      case "kill":
        this.#request("kill", () => this.#ready.process.signal("SIGKILL"));
        return;
    }
  }

  get #ready(): Attachment {
    if (this.#attachment === undefined) throw new InvalidArgumentError("the terminal is not ready yet: wait for the frame ready");
    return this.#attachment;
  }

  async #open(open: () => Promise<Attachment>): Promise<void> {
    this.#isOpening = true;
    try {
      const attachment = await open();
      if (this.#socket.readyState !== this.#socket.OPEN) return;
      this.#begin(attachment);
    } catch (error) {
      this.#fail(error);
    }
  }

  #begin(attachment: Attachment): void {
    const { process, session, fromOffset } = attachment;
    const { log } = process;
    const wanted = fromOffset ?? log.endOffset;
    if (wanted > log.endOffset) {
      throw new InvalidArgumentError(`from_offset ${wanted} lies beyond the output, which has ${log.endOffset} bytes so far`);
    }
    this.#attachment = attachment;
    const offset = Math.max(wanted, log.startOffset);
    this.#sentOffset = offset;
    this.#ackedOffset = offset;
    session.hold(this);
    this.#cursor = log.openCursor(offset);
    this.#send({ type: "ready", pid: process.pid, offset, session: session.id, input_offset: session.acceptedBytes });
    if (offset > wanted) this.#send({ type: "gap", missing_bytes: offset - wanted });
    if (session.deliveredBytes > 0) this.onDelivered();
    this.#pump();
  }

  /** Send what may be sent; whatever makes more possible comes back here. */
  #pump(): void {
    const cursor = this.#cursor;
    const process = this.#attachment?.process;
    if (cursor === undefined || process === undefined || this.#isOver) return;
    this.#guard(() => {
      for (;;) {
        const credit = Math.min(
          MAX_FRAME_BYTES,
          (this.#options.windowBytes ?? Number.POSITIVE_INFINITY) - (this.#sentOffset - this.#ackedOffset),
        );
        if (this.#socket.bufferedAmount >= MAX_BUFFERED_BYTES) return;
        // The exit needs no credit.
        if (credit <= 0 && !cursor.isDone) return;
        const piece = credit > 0 ? cursor.take(credit) : undefined;
        if (piece === undefined) break;
        this.#sentOffset = piece.offset + piece.sizeBytes;
        this.#socket.send(joinPiece(piece), { binary: true }, () => this.#pump());
      }
      if (!cursor.isDone) {
        cursor.onWake(() => this.#pump());
        return;
      }
      const exit = toExitFrame(process);
      if (exit === undefined) return;
      this.#send(exit);
      this.#end(1000);
    });
  }

  #request(request: "resize" | "kill", action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#send(toErrorFrame(error, request));
    }
  }

  #guard(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const frame = toErrorFrame(error);
    this.#send(frame);
    this.#end(STATUS_OF_REASON[frame.error_code].http < 500 ? 1008 : 1011);
  }

  #send(frame: ServerFrame): void {
    if (!this.#isOver && this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(frame));
  }

  #end(code: number): void {
    this.#isOver = true;
    this.#cursor?.close();
    this.#socket.close(code);
  }

  #onClose(code: number): void {
    clearInterval(this.#heartbeat);
    // A client that said goodbye does not come back.
    if (!this.#isOver && code !== 1000 && code !== 1001 && code !== 1005) this.#attachment?.process.log.hold(HOLD_MS);
    this.#isOver = true;
    this.#cursor?.close();
    this.#attachment?.session.release(this);
  }
}
