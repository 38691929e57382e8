import { ConnectionError } from "../errors/error-classes.js";
import type { WebSocketConnection, WebSocketOpener, WebSocketRequest } from "./websocket.js";

/** WebSockets over the global class of browsers and edge runtimes. */
export function createWebSocketOpener(): WebSocketOpener {
  return { sendsHeaders: false, open };
}

function open({ url, signal, handlers }: WebSocketRequest): Promise<WebSocketConnection> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    const onAbort = () => drop(signal.reason);
    let isOver = false;
    const drop = (reason: unknown) => {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener("abort", onAbort);
      reject(reason);
      socket.close();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (isOver) return;
      if (typeof data === "string") handlers.onText(data);
      else handlers.onBytes(new Uint8Array(data));
    });
    socket.addEventListener("close", () => {
      if (isOver) return;
      // A page is not told why.
      drop(new ConnectionError(`the WebSocket to ${new URL(url).origin} was refused or cannot be made`));
      handlers.onClose(undefined);
    });
    socket.addEventListener("open", () => {
      if (isOver) return;
      resolve({
        // The class wants bytes over an ArrayBuffer, which every array here has.
        send: (data) => void (socket.readyState === WebSocket.OPEN && socket.send(data as string | Uint8Array<ArrayBuffer>)),
        drop: () => drop(undefined),
      });
    });
  });
}
