import { openHttpClient, openWebSockets } from "#runtime";
import { latePart, loadPart } from "../shared/load-part.js";
import { VERSION } from "../shared/version.js";
import type { Config, RequestOptions } from "../transport/config.js";
import { DaemonHttp, type DaemonHttpOptions } from "../transport/daemon-http.js";
import type { HttpClient } from "../transport/http.js";
import { createFetchClient } from "../transport/http-fetch.js";
import { toSafeLogger } from "../transport/logger.js";
import { createRestClient, type RestClient } from "../transport/rest.js";
import { createRpcClient, preloadRpc, type RpcClient } from "../transport/rpc.js";
import { type ArchiveClient, createHttpArchives } from "./archive-client.js";
import type { CodeClient } from "./code-client.js";
import { daemonUrl, portUrl, toHost } from "./edge-url.js";
import { createFcMountClient, type FcMountClient } from "./fc-mount-client.js";
import { createFilesystemClient, type FilesystemClient } from "./filesystem-client.js";
import { createLifecycleClient, type LifecycleClient } from "./lifecycle-client.js";
import type { SandboxAccess } from "./lifecycle-types.js";
import type { NamedCommandClient, NamedCommandSettings } from "./named-command-client.js";
import { createNetworkClient, type NetworkClient } from "./network-client.js";
import { createProcessClient, type ProcessClient } from "./process-client.js";
import type { RecordClient } from "./record-client.js";
import { createResumableProcessClient, RESUMABLE_SERVICE } from "./resumable-process-client.js";
import type { RouteGeneration, RouteMemory } from "./route-memory.js";
import type { SecretClient } from "./secret-client.js";
import { createStateClient, type StateClient } from "./state-client.js";
import type { TemplateClient } from "./template-client.js";
import type { TerminalClient } from "./terminal-client.js";
import { createFileTransfer, type FileTransfer } from "./transfer.js";
import type { VolumeClient } from "./volume-client.js";

/** Port of the daemon inside every sandbox. */
export const DAEMON_PORT = 49_983;

/** Port of the code interpreter inside a sandbox. */
const CODE_PORT = 49_999;
/** The name under which a platform announces terminals over WebSocket. */
const TERMINAL_SERVICE = "pty.v1";

/** The FC service has only the older routes, so the newer ones are not asked for. */
const FC_ROUTES: RouteMemory = { get: () => "older", set: () => undefined };

/**
 * What calls share however many clients a program makes: kept connections by proxy, and what was learned about servers.
 *
 * One per process, because a pool that is thrown away with each `Sandbox.create` is no pool.
 */
export class ConnectionPool {
  readonly #clients = new Map<string | undefined, HttpClient>();
  readonly routes = new Map<string, RouteGeneration>();
  /** Sandboxes that a server may not know yet although it made them, and until when. */
  readonly fresh = new Map<string, number>();

  /** The HTTP client for a configuration; a user's `fetch` wins. */
  httpClient({ fetch, proxy }: Pick<Config, "fetch" | "proxy">): HttpClient {
    if (fetch !== undefined) return createFetchClient(() => fetch);
    const known = this.#clients.get(proxy);
    if (known !== undefined) return known;
    const client = openHttpClient({ proxy });
    this.#clients.set(proxy, client);
    return client;
  }
}

/** The client for the lives of the sandboxes of one control plane. */
export async function openLifecycle(config: Config, pool: ConnectionPool, signal?: AbortSignal): Promise<LifecycleClient> {
  const isFc = config.service === "fc";
  const routes = isFc ? FC_ROUTES : pool.routes;
  const facts = { routes, baseUrl: config.apiUrl, keepsKeys: config.platform === "local", repeatsNames: isFc };
  const client = createLifecycleClient(openRest(config, pool), facts);
  if (!isFc) return client;
  const { withFcLifecycle } = await loadPart("knows the FC service", import("./fc-lifecycle.js"), signal);
  return withFcLifecycle(client, pool.fresh);
}

/** The client for pauses, snapshots and forks of one control plane. */
export async function openStateClient(config: Config, pool: ConnectionPool, signal?: AbortSignal): Promise<StateClient> {
  const client = createStateClient(openRest(config, pool));
  if (config.service !== "fc") return client;
  const { withFcStates } = await loadPart("knows the FC service", import("./fc-states.js"), signal);
  return withFcStates(client);
}

/** The client for metrics, logs and events of one control plane; its code is loaded when one of them is asked for. */
export function openRecordClient(config: Config, pool: ConnectionPool): RecordClient {
  const load = latePart("reads metrics, logs and events", async () => {
    const { createRecordClient } = await import("./record-client.js");
    return createRecordClient(openRest(config, pool));
  });
  return {
    metrics: async (sandboxId, range, options) => (await load(options.signal)).metrics(sandboxId, range, options),
    logs: async (sandboxId, query, options) => (await load(options.signal)).logs(sandboxId, query, options),
    events: async function* (query, options) {
      yield* (await load(options.signal)).events(query, options);
    },
  };
}

/** The client for the networks of the sandboxes of one control plane. */
export function openNetworkClient(config: Config, pool: ConnectionPool): NetworkClient {
  return createNetworkClient(openRest(config, pool));
}

/** The client for late mounts, which one service has. */
export function openFcMountClient(config: Config, pool: ConnectionPool): FcMountClient {
  return createFcMountClient(openRest(config, pool));
}

/** The client for the secrets of one control plane. */
export async function openSecretClient(config: Config, pool: ConnectionPool, signal?: AbortSignal): Promise<SecretClient> {
  const { createSecretClient } = await loadPart("knows secrets", import("./secret-client.js"), signal);
  return createSecretClient(openRest(config, pool));
}

/** The client for the templates of one control plane. */
export async function openTemplateClient(config: Config, pool: ConnectionPool, signal?: AbortSignal): Promise<TemplateClient> {
  const { createTemplateClient } = await loadPart("knows templates", import("./template-client.js"), signal);
  return createTemplateClient(openRest(config, pool), pool.httpClient(config));
}

/** The client for the volumes of one control plane. */
export async function openVolumeClient(config: Config, pool: ConnectionPool, signal?: AbortSignal): Promise<VolumeClient> {
  const { createVolumeClient } = await loadPart("knows volumes", import("./volume-client.js"), signal);
  const { apiUrl, volumeUrl: contentUrl, requestTimeoutMs, retries, telemetry } = config;
  const content = { http: pool.httpClient(config), apiUrl, contentUrl, requestTimeoutMs, retries, telemetry };
  return createVolumeClient(openRest(config, pool), content);
}

function openRest(config: Config, pool: ConnectionPool): RestClient {
  return createRestClient({
    http: pool.httpClient(config),
    baseUrl: config.apiUrl,
    apiKey: config.apiKey,
    apiHeaders: config.apiHeaders,
    requestTimeoutMs: config.requestTimeoutMs,
    retries: config.retries,
    logger: toSafeLogger(config.logger),
    telemetry: config.telemetry,
  });
}

/** The clients of one daemon. */
export interface DaemonClients {
  readonly processes: ProcessClient;
  /** `undefined` where the daemon is not ours. */
  readonly terminals: TerminalClient | undefined;
  readonly filesystem: FilesystemClient;
  readonly transfer: FileTransfer;
  readonly archives: ArchiveClient;
  /** The command server, on another port of the same sandbox. */
  readonly commandServer: NamedCommandClient;
  readonly code: CodeClient;
  /** Whether it answers; false when the edge knows no such running sandbox. */
  isHealthy(options: RequestOptions): Promise<boolean>;
}

/** Begin to load the code that calls a daemon while the control plane is still busy with the sandbox. */
export const preloadDaemonCalls = preloadRpc;

/** Open the clients of the daemon of one sandbox. Nothing is sent yet. */
export function openDaemon(config: Config, access: SandboxAccess, pool: ConnectionPool): DaemonClients {
  const shared = {
    http: pool.httpClient(config),
    baseUrl: daemonUrl(DAEMON_PORT, config, access),
    headers: {
      "user-agent": `agent-sandbox-js/${VERSION}`,
      "e2b-sandbox-id": access.sandboxId,
      "e2b-sandbox-port": String(DAEMON_PORT),
      ...(access.accessToken !== undefined && { "x-access-token": access.accessToken }),
    },
    sandboxId: access.sandboxId,
    templateId: access.templateId,
    requestTimeoutMs: config.requestTimeoutMs,
    retries: config.retries,
    logger: toSafeLogger(config.logger),
    telemetry: config.telemetry,
  };
  const http = new DaemonHttp(shared);
  const isBinary = config.encoding === "auto" ? access.isBinary : config.encoding === "binary";
  const rpc = createRpcClient({ ...shared, isBinary, probeHealth: () => http.probeHealth() });
  const processes = openProcesses(rpc, access, config);
  const filesystem = createFilesystemClient(rpc);
  return {
    processes,
    terminals: openTerminals(config, access, { ...shared, http }),
    filesystem,
    transfer: createFileTransfer(http, access.envdVersion),
    // Only our daemon says that it is binary, and only it has endpoints for archives.
    archives: access.isBinary ? createHttpArchives(http) : openProcessArchives(processes, filesystem, access.envdVersion),
    commandServer: openCommandServer({
      ...shared,
      accessToken: access.accessToken,
      toPort: (port) => toPort(port, config, access),
      probeHealth: () => http.probeHealth(),
    }),
    code: openCode(config, access, shared, () => http.probeHealth()),
    isHealthy: (options) => http.isHealthy(options),
  };
}

/** How a port of a sandbox is reached. What listens there belongs to the guest, so it gets no token of the platform. */
function toPort(port: number, config: Config, access: SandboxAccess) {
  return {
    baseUrl: portUrl(port, config, access),
    headers: {
      "user-agent": `agent-sandbox-js/${VERSION}`,
      "e2b-sandbox-id": access.sandboxId,
      "e2b-sandbox-port": String(port),
      // For the edge, which keeps it to itself.
      ...(access.trafficAccessToken !== undefined && { "e2b-traffic-access-token": access.trafficAccessToken }),
    },
  };
}

/** The command server; what talks to it is loaded when a named command is asked for. */
function openCommandServer(settings: NamedCommandSettings): NamedCommandClient {
  const load = latePart("runs named commands", async () => (await import("./named-command-client.js")).createNamedCommandClient(settings));
  return {
    list: async (target, options) => (await load(options.signal)).list(target, options),
    run: async function* (name, args, call) {
      return yield* (await load(call.signal)).run(name, args, call);
    },
    isServing: async (target, options) => (await load(options.signal)).isServing(target, options),
    token: async () => (await load(undefined)).token(),
  };
}

/** The code interpreter is the daemon on a port of its own, so it gets the daemon's token. What talks to it is loaded when code is run. */
function openCode(config: Config, access: SandboxAccess, shared: DaemonHttpOptions, probe: DaemonHttpOptions["probe"]): CodeClient {
  const load = latePart("runs code", async () => {
    const { createCodeClient } = await import("./code-client.js");
    const { baseUrl, headers } = toPort(CODE_PORT, config, access);
    const http = new DaemonHttp({ ...shared, baseUrl, headers: { ...shared.headers, ...headers }, probe });
    return createCodeClient(http, access.sandboxId);
  });
  return {
    execute: async function* (spec, limits) {
      yield* (await load(limits.signal)).execute(spec, limits);
    },
    createContext: async (spec, options) => (await load(options.signal)).createContext(spec, options),
    listContexts: async (options) => (await load(options.signal)).listContexts(options),
    restartContext: async (id, options) => (await load(options.signal)).restartContext(id, options),
    removeContext: async (id, options) => (await load(options.signal)).removeContext(id, options),
  };
}

/** Archives through programs; their code, with the patterns of `.gitignore`, is loaded when an archive is asked for. */
function openProcessArchives(...parts: [ProcessClient, FilesystemClient, string]): ArchiveClient {
  const load = latePart("packs directories", async () => (await import("./process-archives.js")).createProcessArchives(...parts));
  return {
    read: async (path, options) => (await load(options.signal)).read(path, options),
    write: async (path, archive, options) => (await load(options.signal)).write(path, archive, options),
  };
}

function openProcesses(rpc: RpcClient, access: SandboxAccess, { retries, telemetry }: Config): ProcessClient {
  const shared = createProcessClient(rpc, retries);
  const client = access.services.includes(RESUMABLE_SERVICE) ? createResumableProcessClient(rpc, shared) : shared;
  return telemetry?.watchStreams(client, access) ?? client;
}

/** Terminals over WebSocket, where the daemon has them. A `fetch` of the user's is the only way out, so then there are none. */
function openTerminals(
  config: Config,
  access: SandboxAccess,
  shared: { readonly http: DaemonHttp; readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> },
): TerminalClient | undefined {
  if (config.fetch !== undefined || !access.services.includes(TERMINAL_SERVICE)) return undefined;
  const load = latePart("talks to terminals", async () => {
    const { createTerminalClient } = await import("./terminal-client.js");
    const { protocol } = new URL(shared.baseUrl);
    return createTerminalClient({
      ...shared,
      sockets: openWebSockets({ proxy: config.proxy }),
      hostUrl: `${protocol}//${toHost(DAEMON_PORT, access.sandboxId, access.domain ?? config.domain)}`,
      sandboxId: access.sandboxId,
      requestTimeoutMs: config.requestTimeoutMs,
    });
  });
  const client: TerminalClient = {
    start: async (spec, options) => (await load(options.signal)).start(spec, options),
    attach: async (pid, options) => (await load(options.signal)).attach(pid, options),
    ticketUrl: async (spec, options) => (await load(options.signal)).ticketUrl(spec, options),
  };
  return config.telemetry?.watchStreams(client, access) ?? client;
}
