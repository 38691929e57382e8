import { openHttpClient, openWebSockets } from "#runtime";
import { VERSION } from "../shared/version.js";
import type { Config, RequestOptions } from "../transport/config.js";
import { DaemonHttp, type DaemonHttpOptions } from "../transport/daemon-http.js";
import type { HttpClient } from "../transport/http.js";
import { createFetchClient } from "../transport/http-fetch.js";
import { preloadMessages } from "../transport/load-messages.js";
import { toSafeLogger } from "../transport/logger.js";
import { createRestClient, type RestClient } from "../transport/rest.js";
import { createRpcClient, type RpcClient } from "../transport/rpc.js";
import { type ArchiveClient, createHttpArchives } from "./archive-client.js";
import { CODE_PORT, type CodeClient, createCodeClient } from "./code-client.js";
import { FC_ROUTES, withFcLifecycle } from "./fc-lifecycle.js";
import { createFcMountClient, type FcMountClient } from "./fc-mount-client.js";
import { withFcStates } from "./fc-states.js";
import { createFilesystemClient, type FilesystemClient } from "./filesystem-client.js";
import { createLifecycleClient, type LifecycleClient } from "./lifecycle-client.js";
import type { SandboxAccess } from "./lifecycle-types.js";
import { createNamedCommandClient, type NamedCommandClient } from "./named-command-client.js";
import { createNetworkClient, type NetworkClient } from "./network-client.js";
import { createProcessClient, type ProcessClient } from "./process-client.js";
import { createRecordClient, type RecordClient } from "./record-client.js";
import { createResumableProcessClient, RESUMABLE_SERVICE } from "./resumable-process-client.js";
import type { RouteGeneration } from "./route-memory.js";
import { createSecretClient, type SecretClient } from "./secret-client.js";
import { createStateClient, type StateClient } from "./state-client.js";
import { createTemplateClient, type TemplateClient } from "./template-client.js";
import { createTerminalClient, TERMINAL_SERVICE, type TerminalClient } from "./terminal-client.js";
import { createFileTransfer, type FileTransfer } from "./transfer.js";
import { createVolumeClient, type VolumeClient } from "./volume-client.js";

/** Port of the daemon inside every sandbox. */
export const DAEMON_PORT = 49_983;

/** Domains whose edge has one shared host for the daemons of all sandboxes. */
const SHARED_HOST_DOMAINS: readonly string[] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];

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

/** The clients of one control plane. */
export function openLifecycle(config: Config, pool: ConnectionPool): LifecycleClient {
  const isFc = config.service === "fc";
  const routes = isFc ? FC_ROUTES : pool.routes;
  const facts = { routes, baseUrl: config.apiUrl, keepsKeys: config.platform === "local", repeatsNames: isFc };
  const client = createLifecycleClient(openRest(config, pool), facts);
  return isFc ? withFcLifecycle(client, pool.fresh) : client;
}

/** The client for pauses, snapshots and forks of one control plane. */
export function openStateClient(config: Config, pool: ConnectionPool): StateClient {
  const client = createStateClient(openRest(config, pool));
  return config.service === "fc" ? withFcStates(client) : client;
}

/** The client for metrics, logs and events of one control plane. */
export function openRecordClient(config: Config, pool: ConnectionPool): RecordClient {
  return createRecordClient(openRest(config, pool));
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
export function openSecretClient(config: Config, pool: ConnectionPool): SecretClient {
  return createSecretClient(openRest(config, pool));
}

/** The client for the templates of one control plane. */
export function openTemplateClient(config: Config, pool: ConnectionPool): TemplateClient {
  return createTemplateClient(openRest(config, pool), pool.httpClient(config));
}

/** The client for the volumes of one control plane. */
export function openVolumeClient(config: Config, pool: ConnectionPool): VolumeClient {
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
export const preloadDaemonCalls = preloadMessages;

/** Open the clients of the daemon of one sandbox. Nothing is sent yet. */
export function openDaemon(config: Config, access: SandboxAccess, pool: ConnectionPool): DaemonClients {
  const shared = {
    http: pool.httpClient(config),
    baseUrl: daemonUrl(config, access),
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
    commandServer: createNamedCommandClient({
      ...shared,
      accessToken: access.accessToken,
      toPort: (port) => toPort(port, config, access),
      probeHealth: () => http.probeHealth(),
    }),
    code: createCodeClient(
      openCodeHttp(config, access, shared, () => http.probeHealth()),
      access.sandboxId,
    ),
    isHealthy: (options) => http.isHealthy(options),
  };
}

/** How a port of a sandbox is reached. What listens there belongs to the guest, so it gets no token of the platform. */
function toPort(port: number, config: Config, access: SandboxAccess) {
  return {
    baseUrl: config.sandboxUrl ?? `https://${toHost(port, access.sandboxId, access.domain ?? config.domain)}`,
    headers: {
      "user-agent": `agent-sandbox-js/${VERSION}`,
      "e2b-sandbox-id": access.sandboxId,
      "e2b-sandbox-port": String(port),
      // For the edge, which keeps it to itself.
      ...(access.trafficAccessToken !== undefined && { "e2b-traffic-access-token": access.trafficAccessToken }),
    },
  };
}

/** The code interpreter is the daemon on a port of its own, so it gets the daemon's token. */
function openCodeHttp(config: Config, access: SandboxAccess, shared: DaemonHttpOptions, probe: DaemonHttpOptions["probe"]): DaemonHttp {
  const { baseUrl, headers } = toPort(CODE_PORT, config, access);
  return new DaemonHttp({ ...shared, baseUrl, headers: { ...shared.headers, ...headers }, probe });
}

/** Archives through programs; their code, with the patterns of `.gitignore`, is loaded when an archive is asked for. */
function openProcessArchives(...parts: [ProcessClient, FilesystemClient, string]): ArchiveClient {
  const load = async () => (await import("./process-archives.js")).createProcessArchives(...parts);
  return {
    read: async (path, options) => (await load()).read(path, options),
    write: async (path, archive, options) => (await load()).write(path, archive, options),
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
  const { protocol } = new URL(shared.baseUrl);
  const client = createTerminalClient({
    ...shared,
    sockets: openWebSockets({ proxy: config.proxy }),
    hostUrl: `${protocol}//${toHost(DAEMON_PORT, access.sandboxId, access.domain ?? config.domain)}`,
    sandboxId: access.sandboxId,
    requestTimeoutMs: config.requestTimeoutMs,
  });
  return config.telemetry?.watchStreams(client, access) ?? client;
}

/** Where the daemon of a sandbox answers. */
function daemonUrl(config: Config, access: SandboxAccess): string {
  if (config.sandboxUrl !== undefined) return config.sandboxUrl;
  const domain = access.domain ?? config.domain;
  return SHARED_HOST_DOMAINS.includes(domain) ? `https://sandbox.${domain}` : `https://${toHost(DAEMON_PORT, access.sandboxId, domain)}`;
}

/** Host name of a port of a sandbox. */
export function toHost(port: number, sandboxId: string, domain: string): string {
  return `${port}-${sandboxId}.${domain}`;
}
