import { rmSync } from "node:fs";
import { ServiceBusyError } from "../errors/error-classes.js";
import { messageOf } from "../shared/message-of.js";
import type { PlatformFile } from "../shared/platform-dirs.js";
import { VERSION } from "../shared/version.js";
import { readBootId } from "./boot-id.js";
import { CleanupStack } from "./cleanup-stack.js";
import { Creations } from "./creations.js";
import { claimDataDir } from "./data-holder.js";
import { DiskGuard } from "./disk-guard.js";
import type { Driver } from "./drivers/driver.js";
import { findIdRange } from "./drivers/oci/id-range.js";
import { EdgeProxy } from "./edge/edge-proxy.js";
import { EgressService } from "./egress/egress-service.js";
import { readHostAuthorities } from "./egress/host-authorities.js";
import { HostProxies } from "./egress/host-proxy.js";
import { ownAddresses } from "./egress/special-addresses.js";
import { IdleWatch } from "./idle-watch.js";
import { acquireInstanceLock } from "./instance-lock.js";
import { Journal } from "./journal.js";
import type { Logger } from "./logger.js";
import { OpenedDriver } from "./opened-driver.js";
import { type PlatformPaths, preparePaths } from "./paths.js";
import { toPlainNetwork } from "./plain-network.js";
import { loadPlatformKey } from "./platform-key.js";
import { PlatformServer } from "./platform-server.js";
import { WarmPool } from "./pool.js";
import { writePrivateFile } from "./private-file.js";
import { MetricsSampler } from "./records/metrics-sampler.js";
import { MetricsStore } from "./records/metrics-store.js";
import { createHandlers } from "./rest/handlers.js";
import { RestServer } from "./rest/rest-server.js";
import { Sandboxes } from "./sandboxes.js";
import { loadPlatformSecret } from "./secrets/platform-secret.js";
import { SecretBox } from "./secrets/secret-box.js";
import { Secrets } from "./secrets/secrets.js";
import { SnapshotStore } from "./snapshots/snapshot-store.js";
import { Snapshots } from "./snapshots/snapshots.js";
import { Store } from "./store.js";
import type { OtlpSettings } from "./telemetry/otlp-settings.js";
import { RequestWatch } from "./telemetry/request-watch.js";
import { SpanExporter } from "./telemetry/span-exporter.js";
import type { TemplateResolver } from "./template-resolver.js";
import { TemplateBuilds } from "./templates/template-builds.js";
import { TemplateCatalog } from "./templates/template-catalog.js";
import type { TemplateStore } from "./templates/template-store.js";
import { findOwnerIds } from "./volumes/host-mount.js";
import { VolumeContentServer } from "./volumes/volume-content-server.js";
import { VolumeStore } from "./volumes/volume-store.js";

/** How the platform runs; every part has a default in `main.ts`. */
export interface PlatformSettings {
  /** TCP port; 0 lets the system choose; `undefined` for the one of the platform before, where it is free. */
  readonly port: number | undefined;
  /** Address to listen on. */
  readonly host: string;
  /** Domain of the sandboxes' hosts, without a port; `localhost` always works too. */
  readonly domain: string;
  /** Sandboxes of the template `base` that are kept warm. */
  readonly poolSize: number;
  /** Sandboxes that may exist at a time. */
  readonly maxSandboxes: number;
  /** Bytes of the disk that stay free at the cost of the sandbox that wrote most; 0 for no such bound. */
  readonly minFreeBytes: number;
  /** Milliseconds without a sandbox and without a request until the platform stops itself; 0 never. */
  readonly idleTimeoutMs: number;
  /** Check every answer against the contract. */
  readonly checkAnswers: boolean;
  /** Log each request, at level `debug`. @defaultValue false */
  readonly logsRequests?: boolean;
}

/** What the platform is made of. */
export interface PlatformParts {
  readonly paths: PlatformPaths;
  readonly driver: Driver;
  readonly templates: TemplateResolver;
  readonly templateStore: TemplateStore;
  readonly logger: Logger;
  /** Where a span of each request goes; absent for nowhere. */
  readonly otlp?: OtlpSettings | undefined;
  /** Names this run of the machine. @defaultValue what the kernel says */
  readonly bootId?: string;
}

/** A running platform. */
export interface Platform {
  readonly info: PlatformFile;
  /** Resolves when the platform has stopped, for whatever reason. */
  readonly closed: Promise<void>;
  /** Stop: the warm pool is destroyed, sandboxes go on running for the next platform. Idempotent. */
  close(): Promise<void>;
}

const POOL_TEMPLATE = "base";
const REFILL_DELAY_MS = 300;
const REAP_INTERVAL_MS = 60_000;
/** Where no range of ids is free nothing is mounted either, so nobody meets these. */
const FALLBACK_ID_BASE = 100_000;

/**
 * Start the platform of a run directory.
 *
 * @throws {@link AlreadyExistsError} one runs already; {@link FailedPreconditionError} the port is taken, or the data belongs to another run directory.
 */
export async function openPlatform(parts: PlatformParts, settings: PlatformSettings): Promise<Platform> {
  const { paths, templateStore, logger } = parts;
  preparePaths(paths);
  // What was acquired is given back in the reverse order, whether the start fails half-way or the platform stops.
  const cleanup = new CleanupStack();
  try {
    const exporter = parts.otlp && new SpanExporter(parts.otlp, logger);
    if (exporter !== undefined) cleanup.defer(() => exporter.close());
    const lock = acquireInstanceLock(paths.lockFile);
    cleanup.defer(() => lock.release());
    const store = new Store(paths.databaseFile);
    cleanup.defer(() => store.close());
    const claim = claimDataDir(paths, store);
    const apiKey = loadPlatformKey(paths.apiKeyFile);

    const platformSecret = loadPlatformSecret(paths.secretFile);
    const secrets = new Secrets(store.secrets, new SecretBox(platformSecret));
    const authorities = readHostAuthorities(process.env);
    const egress = new EgressService({
      hostProxies: new HostProxies(process.env),
      ownAddresses,
      platformSecret,
      readSecret: (name) => secrets.read(name),
      extraAuthorities: authorities.extra,
      trustedAuthorities: authorities.all,
    });

    const driver = new OpenedDriver(parts.driver);
    cleanup.defer(() => driver.close());
    const journal = new Journal(store.database);
    const snapshots = new Snapshots({
      store: new SnapshotStore(store.database),
      driver,
      journal,
      logger,
      snapshotsDir: paths.snapshotsDir,
      templates: parts.templates,
      templateLayers: () => builds.layersInUse(),
    });
    cleanup.defer(() => snapshots.close());
    // A snapshot is accepted wherever a template is.
    const templates: TemplateResolver = snapshots;
    const plainNetwork = toPlainNetwork(egress);
    const pool: WarmPool = new WarmPool({
      driver,
      templates,
      logger,
      template: POOL_TEMPLATE,
      size: settings.poolSize,
      refillDelayMs: REFILL_DELAY_MS,
      isBusy: () => sandboxes.startingCount > 0,
      init: plainNetwork.init,
    });
    cleanup.defer(() => pool.close());
    const builds: TemplateBuilds = new TemplateBuilds({
      paths,
      store: templateStore,
      templates,
      table: store.builds,
      driver,
      secret: apiKey,
      logger,
      network: plainNetwork,
    });
    cleanup.defer(() => builds.close());
    builds.recover();
    const hostIdBase = findIdRange("root")?.base ?? FALLBACK_ID_BASE;
    const volumes = new VolumeStore({
      directory: paths.volumesDir,
      secret: apiKey,
      hostIdBase,
      mountedIds: () => new Set(store.all().flatMap(({ mounts }) => mounts.flatMap(({ volume }) => volume?.id ?? []))),
    });
    await volumes.recover();
    const { maxSandboxes } = settings;
    const { bootId = readBootId() } = parts;
    const sandboxes = new Sandboxes({ store, driver, templates, pool, builds, egress, journal, logger, maxSandboxes, bootId });
    cleanup.defer(() => sandboxes.close());
    await adoptOrLeave(sandboxes, logger);

    const metrics = new MetricsStore(store.database);
    const sampler = new MetricsSampler({
      driver,
      metrics,
      journal,
      logger,
      running: () => sandboxes.running().map(({ link }) => sandboxes.get(link.sandboxId)),
      sandboxesDir: paths.sandboxesDir,
    });
    cleanup.defer(() => sampler.close());
    sampler.start();

    let port = 0;
    const handlers = createHandlers({
      sandboxes,
      pool,
      exporter,
      egress,
      secrets,
      builds,
      isolation: (id) => driver.isolation(id),
      volumes,
      ownerIds: findOwnerIds(),
      ownDirs: [paths.dataDir, paths.runDir],
      catalog: new TemplateCatalog(templateStore, store.builds),
      store: templateStore,
      table: store.builds,
      creations: new Creations(store.database, sandboxes),
      templates,
      snapshots,
      metrics,
      journal,
      domain: () => `${settings.domain}:${port}`,
    });
    const rest = new RestServer({ handlers, apiKey, logger, checkAnswers: settings.checkAnswers });
    const edge = new EdgeProxy(sandboxes);
    const server = new PlatformServer({
      rest,
      volumeContent: new VolumeContentServer({ volumes, hostIdBase, logger }),
      edge,
      sandboxes,
      domain: settings.domain,
      logger,
      watch: new RequestWatch(logger, settings.logsRequests ?? false, exporter),
      onRequest: () => idle.touch(),
    });
    // Programs that use the platform know its address, and go on with the next one where it is the same.
    port = await server.listenOnOneOf(settings.port === undefined ? [claim.port ?? 0, 0] : [settings.port], settings.host);
    cleanup.defer(() => server.close());
    claim.rememberPort(port);

    let onClosed = () => {};
    const closed = new Promise<void>((resolve) => {
      onClosed = resolve;
    });
    let closing: Promise<void> | undefined;
    const close = () => {
      closing ??= cleanup.run().finally(onClosed);
      return closing;
    };
    const idle = new IdleWatch(
      settings.idleTimeoutMs,
      () => sandboxes.size + builds.runningCount > 0,
      () => {
        logger.info("platform.idle", { idleTimeoutMs: settings.idleTimeoutMs });
        void close();
      },
    );
    cleanup.defer(() => idle.close());
    const guard = new DiskGuard({
      directory: paths.dataDir,
      reserveBytes: settings.minFreeBytes,
      runningIds: () => sandboxes.running().map(({ link }) => link.sandboxId),
      usage: (ids) => driver.usage(ids, { withDisk: true }),
      end: (id, writtenBytes) => sandboxes.endForDisk(id, writtenBytes),
      logger,
    });
    cleanup.defer(() => guard.close());
    const reaper = setInterval(() => reap(sandboxes, snapshots, logger), REAP_INTERVAL_MS).unref();
    cleanup.defer(() => clearInterval(reaper));

    const info = { version: VERSION, pid: process.pid, port, url: `http://127.0.0.1:${port}`, apiKey, startedAt: new Date().toISOString() };
    writePrivateFile(paths.platformFile, `${JSON.stringify(info, null, 2)}\n`);
    cleanup.defer(() => rmSync(paths.platformFile, { force: true }));
    pool.start();
    setImmediate(() => rest.warmUp());
    logger.info("platform.started", { port, pid: process.pid, poolSize: settings.poolSize });
    return { info, closed, close };
  } catch (error) {
    await cleanup.run();
    throw error;
  }
}

/** Without a runtime nothing can be adopted; creations then say what is missing. */
async function adoptOrLeave(sandboxes: Sandboxes, logger: Logger): Promise<void> {
  try {
    await sandboxes.adopt();
  } catch (error) {
    logger.warn("platform.adopt_failed", { message: messageOf(error) });
  }
}

function reap(sandboxes: Sandboxes, snapshots: Snapshots, logger: Logger): void {
  const work = async () => {
    await sandboxes.reap();
    await snapshots.sweep();
  };
  work().catch((error: unknown) => {
    if (!(error instanceof ServiceBusyError)) logger.warn("reaper.failed", { message: messageOf(error) });
  });
}
