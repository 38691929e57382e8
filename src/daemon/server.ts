import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { ProcessService } from "../../gen/proto/agentsandbox/process/v1/process_pb.js";
import { Filesystem } from "../../gen/proto/filesystem/filesystem_pb.js";
import { Process } from "../../gen/proto/process/process_pb.js";
import { STREAM_BUFFER_BYTES } from "../shared/stream-buffer.js";
import { assertAccess, isOpenRoute } from "./auth.js";
import { CODE_PORT, CodeEndpoint } from "./code/code-endpoint.js";
import { COMPLAINTS_TARGET } from "./complaints.js";
import { allowAnyOrigin, answerPreflight } from "./cors.js";
import { DaemonState, type DaemonStateOptions } from "./daemon-state.js";
import { EGRESS_TARGET } from "./egress/egress.js";
import { handlePack, handleUnpack } from "./files/archive.js";
import { handleCompose } from "./files/compose.js";
import { handleFiles } from "./files/files-handler.js";
import { createFileContext, type FileContext } from "./filesystem/file-context.js";
import { createFilesystemService } from "./filesystem/filesystem-service.js";
import { createWatchHub } from "./filesystem/watch/watch-hub.js";
import { createWatcherRegistry } from "./filesystem/watch/watcher-registry.js";
import { sendException, sendHttpError, sendJson } from "./http-response.js";
import { handleInit } from "./init-route.js";
import { measure } from "./metrics.js";
import { createLibcLoader } from "./native/libc.js";
import { ProcessRegistry } from "./process/process-registry.js";
import { createProcessService } from "./process/process-service.js";
import { createResumableService, createResumableStreams } from "./process/resumable-service.js";
import { createRpcHandler } from "./rpc.js";
import { TERMINAL_PATH, TerminalEndpoint, TICKET_PATH } from "./terminal/terminal-endpoint.js";
import { openTunnel } from "./tunnel.js";

const MAX_HEADER_BYTES = 64 * 1024;

export interface DaemonOptions extends DaemonStateOptions {
  /**
   * Milliseconds that a connection may idle between requests; 0 is for ever, for the edge that keeps one connection to see the daemon die.
   *
   * @defaultValue 0
   */
  readonly idleConnectionMs?: number;
  /** Tunnels need the access token too: set it where others than the edge can reach the listener. @defaultValue false */
  readonly guardTunnels?: boolean;
  /** Run code in the Jupyter kernels of the sandbox. @defaultValue false */
  readonly hasKernels?: boolean;
}

/** A daemon that is ready to listen. */
export interface Daemon {
  /** Call `listen` on it. */
  readonly server: Server;
  readonly state: DaemonState;
  readonly processes: ProcessRegistry;
  /** Port 49999; `undefined` where the daemon runs no code. */
  readonly code: CodeEndpoint | undefined;
  /** Stop listening, cut all connections and kill all processes. */
  close(): Promise<void>;
}

type Route = (req: IncomingMessage, res: ServerResponse) => void | Promise<void>;

/** Compose the daemon: its state, its services and the HTTP server that offers them. */
export function createDaemon(options: DaemonOptions = {}): Daemon {
  const state = new DaemonState(options);
  const libc = createLibcLoader();
  const processes = new ProcessRegistry(state, libc);
  const files = createFileContext(state, libc);
  const filesystem = createFilesystemService({ context: files, hub: createWatchHub(libc), watchers: createWatcherRegistry() });
  const rpc = createRpcHandler({
    services: [Process, ProcessService, Filesystem],
    routes: (router) =>
      router
        .service(Process, createProcessService(processes, state))
        .service(ProcessService, createResumableService(processes, state))
        .service(Filesystem, filesystem),
    binaryStreams: createResumableStreams(processes, state),
  });
  const terminals = new TerminalEndpoint(processes, state);
  const code = options.hasKernels ? new CodeEndpoint(state) : undefined;
  const routes = createRoutes(state, files, terminals, code);

  const dispatch = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    // The response of a vanished client fails; whoever writes sees it there.
    res.on("error", () => {});
    allowAnyOrigin(res);
    const method = req.method ?? "";
    const path = req.url?.split("?", 1)[0] ?? "";
    if (method === "OPTIONS") return answerPreflight(req, res);
    if (!isOpenRoute(method, path)) assertAccess(req, state.accessToken);
    if (rpc.isRpcPath(path)) return rpc.handle(req, res, path);
    const methods = routes.get(path);
    if (methods === undefined) return sendHttpError(res, 404, `nothing is served at '${path}'`);
    const route = methods.get(method);
    if (route === undefined) {
      const allow = [...methods.keys()].join(", ");
      return sendHttpError(res, 405, `'${path}' takes ${allow}, not ${method}`, { allow });
    }
    return route(req, res);
  };

  // An import statement would read every export of the module, and two of them load Node's whole HTTP client.
  const server = process.getBuiltinModule("node:http").createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      highWaterMark: STREAM_BUFFER_BYTES,
      noDelay: true,
      shouldUpgradeCallback: (req) => terminals.isUpgrade(req),
    },
    (req, res) => {
      dispatch(req, res).catch((error: unknown) => sendException(res, error));
    },
  );
  // Streams last as long as their processes, and the edge keeps an idle connection on purpose.
  server.requestTimeout = 0;
  server.headersTimeout = 0;
  server.keepAliveTimeout = options.idleConnectionMs ?? 0;
  server.on("connect", (req, socket, head) => {
    if (options.guardTunnels) {
      try {
        assertAccess(req, state.accessToken);
      } catch {
        socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
      }
    }
    if (req.url === COMPLAINTS_TARGET) {
      state.complaints.follow(socket);
      return;
    }
    if (req.url === EGRESS_TARGET && state.egress !== undefined) {
      state.egress.addChannel(socket);
      return;
    }
    if (code !== undefined && req.url?.endsWith(`:${CODE_PORT}`) && code.isAvailable) {
      code.serve(socket, head);
      return;
    }
    void openTunnel(req.url ?? "", socket, head);
  });
  server.on("upgrade", (req, socket, head) => void terminals.handleUpgrade(req, socket, head));
  server.on("clientError", (_error, socket) => {
    if (socket.writable) socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    else socket.destroy();
  });
  server.once("listening", () => processes.warmUp());

  return {
    server,
    state,
    processes,
    code,
    close: async () => {
      code?.close();
      state.egress?.close();
      state.complaints.close();
      terminals.close();
      await processes.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function createRoutes(
  state: DaemonState,
  context: FileContext,
  terminals: TerminalEndpoint,
  code: CodeEndpoint | undefined,
): ReadonlyMap<string, ReadonlyMap<string, Route>> {
  const health: Route = (_req, res) => {
    res.writeHead(204, { "cache-control": "no-store" });
    res.end();
  };
  const files: Route = (req, res) => handleFiles(req, res, { context, state });
  return new Map<string, ReadonlyMap<string, Route>>([
    [
      "/health",
      new Map<string, Route>([
        ["GET", health],
        ["HEAD", health],
      ]),
    ],
    [
      "/files",
      new Map<string, Route>([
        ["GET", files],
        ["POST", files],
      ]),
    ],
    ["/files/compose", new Map<string, Route>([["POST", (req, res) => handleCompose(req, res, context)]])],
    ["/agentsandbox/files/pack", new Map<string, Route>([["POST", (req, res) => handlePack(req, res, context)]])],
    ["/agentsandbox/files/unpack", new Map<string, Route>([["POST", (req, res) => handleUnpack(req, res, context)]])],
    ["/init", new Map<string, Route>([["POST", (req, res) => handleInit(req, res, state, () => code?.warmUp())]])],
    [TERMINAL_PATH, new Map<string, Route>([["GET", (req, res) => terminals.handleGet(req, res)]])],
    [TICKET_PATH, new Map<string, Route>([["POST", (req, res) => terminals.handleTicket(req, res)]])],
    ["/envs", new Map<string, Route>([["GET", (_req, res) => sendJson(res, 200, Object.fromEntries(state.envVars))]])],
    ["/metrics", new Map<string, Route>([["GET", async (_req, res) => sendJson(res, 200, await measure())]])],
  ]);
}
