import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { withAnswerStream } from "./answer-stream.js";
import { assertAccess, findRefusal, type McpAccess } from "./http-access.js";
import { HttpSessions } from "./http-sessions.js";
import type { McpOptions } from "./mcp-options.js";
import { loadMcpSdk } from "./mcp-sdk.js";

/** How clients are served over HTTP. */
export interface McpHttpOptions extends McpOptions {
  /** Address to listen on. One that others can reach needs a token. @defaultValue "127.0.0.1" */
  readonly host?: string | undefined;
  /** TCP port; 0 lets the system choose. @defaultValue 0 */
  readonly port?: number | undefined;
  /** What clients send as `Authorization: Bearer`. @defaultValue none */
  readonly token?: string | undefined;
  /** Origins of pages that may use the server. @defaultValue none: only programs may */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Sessions at a time. @defaultValue 100 */
  readonly maxSessions?: number | undefined;
  /** Milliseconds after which a session without a request ends, with its sandboxes. @defaultValue 3_600_000 */
  readonly idleTimeoutMs?: number | undefined;
}

/** A server that listens. */
export interface McpHttpServer extends AsyncDisposable {
  /** Where clients connect, for example `http://127.0.0.1:8931/mcp`. */
  readonly url: string;
  /** End all sessions, kill their sandboxes and stop listening. */
  close(): Promise<void>;
}

const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;
/** After so long a silence the peer is asked whether it is there, since a stream may be silent for good and one that died says nothing. */
const PROBE_AFTER_MS = 30_000;
const DEFAULT_IDLE_MS = 3_600_000;
const DEFAULT_MAX_SESSIONS = 100;

/**
 * Serve clients over Streamable HTTP, at `/mcp`. `/health` answers without a token.
 *
 * @throws {@link InvalidArgumentError} others can reach the address and there is no token, or the token is empty;
 * {@link FailedPreconditionError} `@modelcontextprotocol/sdk` is not installed.
 */
export async function serveMcpHttp(options: McpHttpOptions = {}): Promise<McpHttpServer> {
  const { host = "127.0.0.1", port = 0, token, allowedOrigins = [] } = options;
  const { maxSessions = DEFAULT_MAX_SESSIONS, idleTimeoutMs: idleMs = DEFAULT_IDLE_MS } = options;
  const access: McpAccess = { host, token, allowedOrigins };
  assertAccess(access);
  const sessions = new HttpSessions(await loadMcpSdk(), options, { maxSessions, idleMs, maxMessageBytes: MAX_MESSAGE_BYTES });
  const server = createServer({ keepAlive: true, keepAliveInitialDelay: PROBE_AFTER_MS }, (request, response) => {
    handle(request, response, access, sessions).catch((error: Error) => {
      options.onProblem?.(error.message);
      if (response.headersSent) response.destroy();
      else answerError(response, 500, -32_603, "internal error");
    });
  });
  server.on("error", ({ message }) => options.onProblem?.(message));
  const { port: boundPort } = await listen(server, host, port).catch(async (error) => {
    await sessions.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await sessions.close();
    server.closeAllConnections();
    await closed;
  };
  const name = host.includes(":") ? `[${host}]` : host;
  return { url: `http://${name}:${boundPort}/mcp`, close, [Symbol.asyncDispose]: close };
}

async function handle(request: IncomingMessage, response: ServerResponse, access: McpAccess, sessions: HttpSessions): Promise<void> {
  const [path] = (request.url ?? "").split("?");
  if (path === "/health") return answerJson(response, 200, { status: "ok" });
  const refusal = findRefusal(request.headers, access);
  allowPage(request, response, access);
  // A browser asks without the token whether it may send it; a page that may not was refused for its origin.
  if (request.method === "OPTIONS" && refusal?.status !== 403) return void response.writeHead(204).end();
  if (refusal !== undefined) {
    if (refusal.status === 401) response.setHeader("WWW-Authenticate", "Bearer");
    return answerError(response, refusal.status, -32_001, refusal.message);
  }
  if (path !== "/mcp") return answerError(response, 404, -32_600, "there is nothing here; the server is at /mcp");
  const id = request.headers["mcp-session-id"];
  if (typeof id === "string") {
    const isKnown = await sessions.use(id, async (transport) => {
      const closed = new Promise<void>((resolve) => response.once("close", resolve));
      await transport.handleRequest(withAnswerStream(request, response), response);
      // A call lasts until its answer is complete; the stream on which a client listens for news is no use of the session.
      if (request.method === "POST") await closed;
    });
    if (!isKnown) answerError(response, 404, -32_001, "there is no such session, or it has ended: begin a new one");
    return;
  }
  if (request.method !== "POST") return answerError(response, 400, -32_000, "the request names no session: begin one with initialize");
  if (sessions.isFull) return answerError(response, 503, -32_000, "too many sessions; try again later");
  await sessions.open((transport) => transport.handleRequest(request, response));
}

/** Let pages of the allowed origins read the answers. */
function allowPage(request: IncomingMessage, response: ServerResponse, { allowedOrigins }: McpAccess): void {
  const { origin } = request.headers;
  response.setHeader("Vary", "Origin");
  if (origin === undefined || !allowedOrigins.includes(origin)) return;
  response.setHeader("Access-Control-Allow-Origin", origin);
  response.setHeader("Access-Control-Expose-Headers", "Mcp-Session-Id");
  response.setHeader("Access-Control-Allow-Methods", "GET, POST, DELETE");
  response.setHeader("Access-Control-Allow-Headers", "Authorization, Content-Type, Mcp-Session-Id, Mcp-Protocol-Version, Last-Event-ID");
}

function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      reject(
        new InvalidArgumentError(`cannot listen on ${host}, port ${port}: ${cause.code ?? cause.message}`, { operation: "mcp", cause }),
      );
    });
    // Without a path to a socket the address is an object.
    server.listen(port, host, () => resolve(server.address() as AddressInfo));
  });
}

function answerError(response: ServerResponse, status: number, code: number, message: string): void {
  answerJson(response, status, { jsonrpc: "2.0", error: { code, message }, id: null });
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}
