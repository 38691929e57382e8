import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { CommandSet } from "../shared/command-definition.js";
import { BrowserPage } from "./browser-page.js";
import { CommandRegistry, loadCustomCommands } from "./command-registry.js";
import { ConfinedFiles } from "./confined-files.js";
import { Dispatcher } from "./dispatcher.js";
import { Programs } from "./programs.js";
import { RequestGuard } from "./request-guard.js";
import { RouteFailure, sendFailure, toWireFailure } from "./route-failure.js";
import { createRouteHandlers } from "./route-handlers.js";
import { resolveServerConfig, type ServerConfig, type ServerOptions } from "./server-config.js";
import { TerminalSessions } from "./terminal-sessions.js";
import { TERMINAL_PATH, TerminalSocket } from "./terminal-socket.js";

/** A server that listens. */
export interface CommandServer extends AsyncDisposable {
  readonly port: number;
  /** Port of the terminals' WebSocket; `undefined` while the group `terminal` is off. */
  readonly ptyPort: number | undefined;
  /** Stop listening, cut all connections and kill what was started. */
  close(): Promise<void>;
}

const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;

/**
 * Serve named commands, and the other routes of openapi/server.yaml, until it is closed or the process ends. Resolves once it listens.
 *
 * @throws InvalidArgumentError: a setting, a route or the file of custom commands cannot be; the system error of a port that is taken.
 */
export async function startServer(commands: CommandSet = {}, options: ServerOptions = {}): Promise<CommandServer> {
  const config = resolveServerConfig(options, process.env);
  const customCommands = loadCustomCommands(config.customCommandsFile);
  const programs = new Programs();
  const terminals = new TerminalSessions(programs);
  const browser = new BrowserPage(config.chromiumPath);
  const ports = { http: config.port, terminal: config.ptyPort };
  const services = {
    config,
    commands: new CommandRegistry(commands, customCommands, programs),
    files: new ConfinedFiles(config.baseDir),
    programs,
    terminals,
    browser,
    ports,
  };
  const guard = new RequestGuard(config);
  const dispatcher = new Dispatcher(config, guard, createRouteHandlers(services));
  const socket = new TerminalSocket(terminals);
  const upgrade = (req: IncomingMessage, stream: Duplex, head: Buffer) =>
    void acceptUpgrade({ req, stream, head }, { config, guard, socket });

  const http = openServer((req, res) => void dispatcher.handle(req, res), upgrade);
  const pty = openServer((_req, res) => sendFailure(res, new RouteFailure(426, "ValueError", "this port speaks WebSocket only")), upgrade);
  const servers = config.groups.terminal ? [http, pty] : [http];
  const close = async () => {
    terminals.closeAll();
    socket.close();
    await Promise.all([...servers.map(stop), browser.close(), programs.close()]);
  };
  try {
    ports.http = await listen(http, config.port, config.host);
    if (config.groups.terminal) ports.terminal = await listen(pty, config.ptyPort, config.host);
  } catch (error) {
    await close();
    throw error;
  }
  return { port: ports.http, ptyPort: config.groups.terminal ? ports.terminal : undefined, close, [Symbol.asyncDispose]: close };
}

function openServer(
  onRequest: Parameters<typeof createServer>[1],
  onUpgrade: (req: IncomingMessage, stream: Duplex, head: Buffer) => void,
): Server {
  const server = createServer({ noDelay: true, shouldUpgradeCallback: isTerminal }, onRequest);
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  server.on("upgrade", onUpgrade);
  server.on("clientError", (_error, stream) => {
    if (stream.writable) stream.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else stream.destroy();
  });
  return server;
}

function isTerminal(req: IncomingMessage): boolean {
  return req.method === "GET" && req.url?.split("?", 1)[0] === TERMINAL_PATH;
}

interface Upgrade {
  readonly req: IncomingMessage;
  readonly stream: Duplex;
  readonly head: Buffer;
}

async function acceptUpgrade(
  { req, stream, head }: Upgrade,
  { config, guard, socket }: { readonly config: ServerConfig; readonly guard: RequestGuard; readonly socket: TerminalSocket },
): Promise<void> {
  // The client may leave at any time.
  stream.on("error", () => stream.destroy());
  try {
    guard.assertCaller(req);
    if (!isTerminal(req)) throw new RouteFailure(400, "ValueError", "this path has no other protocol to switch to", "invalid_argument");
    if (!config.groups.terminal)
      throw new RouteFailure(404, "ValueError", `Built-in route 'GET ${TERMINAL_PATH}' is disabled`, "not_found");
    await socket.accept(req, stream, head);
  } catch (error) {
    const { status, body } = toWireFailure(error);
    const text = JSON.stringify(body);
    stream.end(
      `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
    );
  }
}

function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port); // a TCP listener has no other kind of address
    });
  });
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
