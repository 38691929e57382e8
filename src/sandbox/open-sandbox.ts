import type { FcMountClient } from "../protocol/fc-mount-client.js";
import type { LifecycleClient } from "../protocol/lifecycle-client.js";
import type { SandboxAccess } from "../protocol/lifecycle-types.js";
import {
  ConnectionPool,
  openDaemon,
  openFcMountClient,
  openLifecycle,
  openNetworkClient,
  openRecordClient,
  openSecretClient,
  openStateClient,
  openTemplateClient,
  openVolumeClient,
} from "../protocol/platform.js";
import type { RecordClient } from "../protocol/record-client.js";
import type { SecretClient } from "../protocol/secret-client.js";
import type { StateClient } from "../protocol/state-client.js";
import type { TemplateClient } from "../protocol/template-client.js";
import type { VolumeClient } from "../protocol/volume-client.js";
import { type Config, type ConnectionOptions, type RequestOptions, resolveConfig } from "../transport/config.js";
import { Code } from "./code/code.js";
import { Commands } from "./commands.js";
import { Files } from "./files.js";
import { NamedCommands } from "./named-commands.js";
import { Network } from "./network.js";
import { Pty } from "./pty.js";

/** A control plane and the settings to reach it. */
export interface Platform {
  readonly config: Config;
  readonly lifecycle: LifecycleClient;
  readonly states: StateClient;
  readonly records: RecordClient;
}

/** What a {@link Sandbox} is made of. `create` and `connect` build it; subclasses hand it on. */
export interface SandboxParts {
  readonly platform: Platform;
  readonly access: SandboxAccess;
  readonly files: Files;
  readonly commands: Commands;
  readonly pty: Pty;
  readonly named: NamedCommands;
  readonly network: Network;
  readonly code: Code;
  /** Whether the daemon answers; false when the edge knows no such running sandbox. */
  isHealthy(options: RequestOptions): Promise<boolean>;
}

/** The one state of this module, and why: a pool of connections must outlive the single call. It holds no settings and no keys. */
const pool = /* @__PURE__ */ new ConnectionPool();

/** Resolve the settings and open the control plane; the local platform is found, or started, here. */
export async function openPlatform(options: ConnectionOptions): Promise<Platform> {
  const config = await resolvePlatform(options);
  return {
    config,
    lifecycle: await openLifecycle(config, pool, options.signal),
    states: await openStateClient(config, pool, options.signal),
    records: openRecordClient(config, pool),
  };
}

/** Resolve the settings and open the network of a sandbox by its id. */
export async function openNetwork(sandboxId: string, options: ConnectionOptions): Promise<Network> {
  return new Network(openNetworkClient(await resolvePlatform(options), pool), sandboxId);
}

/** Resolve the settings and open the secrets of the control plane. */
export async function openSecrets(options: ConnectionOptions): Promise<SecretClient> {
  return openSecretClient(await resolvePlatform(options), pool, options.signal);
}

/** Resolve the settings and open the templates of the control plane. */
export async function openTemplates(options: ConnectionOptions): Promise<TemplateClient> {
  return openTemplateClient(await resolvePlatform(options), pool, options.signal);
}

/** Resolve the settings and open the volumes of the control plane. */
export async function openVolumes(options: ConnectionOptions): Promise<VolumeClient> {
  return openVolumeClient(await resolvePlatform(options), pool, options.signal);
}

/** Open the late mounts of a control plane. */
export function openFcMounts({ config }: Platform): FcMountClient {
  return openFcMountClient(config, pool);
}

/** Build the namespaces of one sandbox. The only place where the layers are put together. */
export function openSandboxParts(platform: Platform, access: SandboxAccess): SandboxParts {
  const { processes, terminals, filesystem, transfer, archives, commandServer, code, isHealthy } = openDaemon(
    platform.config,
    access,
    pool,
  );
  const files = new Files({ entries: filesystem, transfer, archives }, access.envdVersion);
  const commands = new Commands(processes, access.envdVersion);
  return {
    platform,
    access,
    files,
    commands,
    pty: new Pty({ processes, terminals }),
    named: new NamedCommands({ server: commandServer, files, commands }),
    network: new Network(openNetworkClient(platform.config, pool), access.sandboxId),
    code: new Code(code),
    isHealthy,
  };
}

async function resolvePlatform(options: ConnectionOptions): Promise<Config> {
  const given = resolveConfig(options);
  return given.platform === "local" ? withLocalPlatform(given, options.signal) : given;
}

async function withLocalPlatform(config: Config, signal: AbortSignal | undefined): Promise<Config> {
  // Loaded where it is needed: programs for a server on the network never do.
  const { findOrStartLocalPlatform } = await import("#local-platform");
  const { apiUrl, sandboxUrl, apiKey } = await findOrStartLocalPlatform({ signal });
  const { port } = new URL(apiUrl);
  return Object.freeze({ ...config, apiUrl, sandboxUrl, apiKey, domain: `localhost:${port}` });
}
