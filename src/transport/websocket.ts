import type { HttpResponse } from "./http.js";

/** What a WebSocket brings. */
export interface WebSocketHandlers {
  onText(text: string): void;
  onBytes(bytes: Uint8Array): void;
  /** Once; nothing comes after it. `cause` is what the runtime said, if anything. */
  onClose(cause: unknown): void;
}

export interface WebSocketRequest {
  /** `ws:` or `wss:`. */
  readonly url: string;
  /** Only where the opener can send them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly handlers: WebSocketHandlers;
}

/** An open WebSocket. */
export interface WebSocketConnection {
  /** A string goes as text, bytes as binary. After the end it is ignored. */
  send(data: string | Uint8Array): void;
  /** Break the connection; nothing comes from it any more. */
  drop(): void;
}

/** Opens WebSockets on one runtime. */
export interface WebSocketOpener {
  /** Pages cannot send headers, so neither routing nor credentials. */
  readonly sendsHeaders: boolean;
  /**
   * An aborted signal rejects with its reason and, later, drops the connection.
   *
   * @throws RefusedUpgrade: the server answered with another status; {@link ConnectionError} there was no answer.
   */
  open(request: WebSocketRequest): Promise<WebSocketConnection>;
}

/** The server did not switch protocols. Internal to the client: the layer above makes a `SandboxError` of it. */
export class RefusedUpgrade extends Error {
  constructor(readonly response: HttpResponse) {
    super(`the upgrade was answered with status ${response.status}`);
  }
}
