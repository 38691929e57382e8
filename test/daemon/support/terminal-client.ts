import { once } from "node:events";
import { WebSocket } from "ws";
import type { components } from "../../../gen/openapi/terminals.js";

type Schemas = components["schemas"];
export type ServerFrame = Schemas["ServerFrame"];
type FrameOf<T extends ServerFrame["type"]> = Extract<ServerFrame, { type: T }>;

/** A plain WebSocket client of the terminal wire, as somebody else would write one. */
export interface TerminalClient {
  readonly socket: WebSocket;
  readonly frames: ServerFrame[];
  /** Everything that the terminal showed. */
  output(): Buffer;
  send(frame: object): void;
  type(data: string | Uint8Array): void;
  /** The first frame of a type. */
  frame<T extends ServerFrame["type"]>(type: T): Promise<FrameOf<T>>;
  /** Wait for a pattern in the last 64 KiB. */
  untilOutput(pattern: RegExp): Promise<string>;
  untilBytes(count: number): Promise<void>;
  /** Close code. */
  readonly closed: Promise<number>;
}

export interface TerminalClientOptions {
  readonly headers?: Record<string, string>;
  readonly origin?: string;
}

const TAIL_LENGTH = 64 * 1024;

/** Connect; rejects with the status when the upgrade is refused. */
export async function openTerminal(url: string, options: TerminalClientOptions = {}): Promise<TerminalClient> {
  const socket = new WebSocket(url, { perMessageDeflate: false, ...options });
  const frames: ServerFrame[] = [];
  const chunks: Buffer[] = [];
  let size = 0;
  let tail = "";
  let wake: () => void = () => {};
  let changed = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const notify = () => {
    const notifyAll = wake;
    changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    notifyAll();
  };
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      chunks.push(data);
      size += data.length;
      tail = (tail + data.toString("latin1")).slice(-TAIL_LENGTH);
    } else frames.push(JSON.parse(data.toString("utf8")) as ServerFrame);
    notify();
  });
  const closed = new Promise<number>((resolve) =>
    socket.on("close", (code) => {
      resolve(code);
      notify();
    }),
  );
  socket.on("error", () => {});
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.once("unexpected-response", (_request, response) => {
      socket.terminate();
      reject(new RefusedUpgrade(response.statusCode ?? 0));
    });
    socket.once("error", reject);
  });
  const until = async <T>(find: () => T | undefined, what: string): Promise<T> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (socket.readyState === WebSocket.CLOSED) throw new Error(`closed before ${what}: ${JSON.stringify(frames.at(-1))}`);
      await changed;
    }
  };
  return {
    socket,
    frames,
    output: () => Buffer.concat(chunks),
    send: (frame) => socket.send(JSON.stringify(frame)),
    type: (data) => socket.send(typeof data === "string" ? Buffer.from(data) : data),
    // The find is by this type.
    frame: <T extends ServerFrame["type"]>(type: T) =>
      until(() => frames.find((frame) => frame.type === type) as FrameOf<T> | undefined, type),
    untilOutput: (pattern) => until(() => (pattern.test(tail) ? tail : undefined), String(pattern)),
    untilBytes: (count) => until(() => (size >= count ? true : undefined), `${count} bytes`).then(() => undefined),
    closed,
  };
}

/** The server answered the upgrade with another status than 101. */
export class RefusedUpgrade extends Error {
  constructor(readonly status: number) {
    super(`refused with ${status}`);
  }
}

/** Break a connection without a goodbye. */
export async function cut(terminal: TerminalClient): Promise<void> {
  terminal.socket.terminate();
  if (terminal.socket.readyState !== WebSocket.CLOSED) await once(terminal.socket, "close");
}
