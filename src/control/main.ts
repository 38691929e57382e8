import { availableParallelism } from "node:os";
import { FailedPreconditionError, InvalidArgumentError } from "../errors/error-classes.js";
import { createOciDriver } from "./drivers/oci/oci-driver.js";
import { isRoot, ROOT_NEED } from "./drivers/oci/root-need.js";
import { ALL_RUNTIME_NAMES } from "./drivers/oci/runtime-probe.js";
import { createLogger, LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./logger.js";
import { resolvePaths } from "./paths.js";
import { openPlatform, type Platform } from "./platform.js";
import { readOtlpSettings } from "./telemetry/otlp-settings.js";
import { createTemplateResolver } from "./template-resolver.js";
import { createTemplateStore } from "./templates/template-store.js";

/** Options of `abx serve`. */
export interface PlatformOptions {
  /** TCP port; 0 lets the system choose. @defaultValue the port of the platform before, where it is free, else 0 */
  readonly port?: number | undefined;
  /** Address to listen on. @defaultValue "127.0.0.1" */
  readonly host?: string | undefined;
  /** Domain of the sandboxes' hosts, without a port. @defaultValue "localhost" */
  readonly domain?: string | undefined;
  /** Sandboxes of the template `base` that are kept warm; 0 turns the pool off. @defaultValue `AGENT_SANDBOX_POOL_SIZE`, else one per CPU, at most 2 */
  readonly poolSize?: number | undefined;
  /** Sandboxes that may exist at a time. @defaultValue `AGENT_SANDBOX_MAX_SANDBOXES`, else 500 */
  readonly maxSandboxes?: number | undefined;
  /** MiB that each sandbox may write to its own file system; 0 for as much as the machine has. @defaultValue `AGENT_SANDBOX_DISK_MB`, else 0 */
  readonly diskMb?: number | undefined;
  /** OCI runtime that sandboxes run in: `crun`, `runc` or `runsc` (gVisor). @defaultValue `AGENT_SANDBOX_RUNTIME`, else the first of crun and runc that works */
  readonly runtime?: string | undefined;
  /** Milliseconds without a sandbox and without a request until the platform stops itself; 0 never. @defaultValue 900_000 */
  readonly idleTimeoutMs?: number | undefined;
  /** The least that is logged; `debug` has a line for each request. @defaultValue `AGENT_SANDBOX_LOG_LEVEL`, else "info" */
  readonly logLevel?: LogLevel | undefined;
  /** @defaultValue `AGENT_SANDBOX_LOG_FORMAT`, else "json" */
  readonly logFormat?: LogFormat | undefined;
  /** Stop on SIGTERM and SIGINT. @defaultValue true */
  readonly handleSignals?: boolean | undefined;
}

const DEFAULT_IDLE_TIMEOUT_MS = 15 * 60_000;
const MAX_DEFAULT_POOL = 2;
const MAX_POOL = 100;
const DEFAULT_MAX_SANDBOXES = 500;
const DEFAULT_MIN_FREE_MB = 1_024;
const MIN_DISK_MB = 16;
/** 1 TiB. */
const MAX_DISK_MB = 1_048_576;

/**
 * Start the local platform of this user in this process. The log goes to stderr, one line per event.
 *
 * @throws {@link AlreadyExistsError} one runs already; {@link FailedPreconditionError} the port is taken; {@link InvalidArgumentError} an
 * option is out of range.
 */
export async function startPlatform(options: PlatformOptions = {}): Promise<Platform> {
  const paths = resolvePaths();
  const level = oneOf("logLevel", options.logLevel ?? process.env.AGENT_SANDBOX_LOG_LEVEL, LOG_LEVELS);
  const format = oneOf("logFormat", options.logFormat ?? process.env.AGENT_SANDBOX_LOG_FORMAT, LOG_FORMATS);
  const logger = createLogger((line) => process.stderr.write(line), { level, format });
  const templateStore = createTemplateStore(paths.templatesDir);
  const diskMb = checkDiskMb(options.diskMb ?? fromEnvironment("DISK_MB") ?? 0);
  const runtime = checkRuntime(options.runtime ?? process.env.AGENT_SANDBOX_RUNTIME);
  const platform = await openPlatform(
    {
      paths,
      driver: createOciDriver({ paths, logger, withDisks: diskMb > 0, ...(runtime !== undefined && { runtimeNames: [runtime] }) }),
      templates: isRoot() ? createTemplateResolver(templateStore, diskMb) : { resolve: refuseWithoutRoot },
      templateStore,
      logger,
      otlp: readOtlpSettings(process.env, (message) => logger.warn("telemetry.not_exported", { message })),
    },
    {
      port: options.port === undefined ? undefined : inRange("port", options.port, 65_535),
      host: options.host ?? "127.0.0.1",
      domain: options.domain ?? "localhost",
      poolSize: inRange("poolSize", options.poolSize ?? defaultPoolSize(), MAX_POOL),
      maxSandboxes: inRange("maxSandboxes", options.maxSandboxes ?? fromEnvironment("MAX_SANDBOXES") ?? DEFAULT_MAX_SANDBOXES, 100_000),
      minFreeBytes: inRange("minFreeMb", fromEnvironment("MIN_FREE_MB") ?? DEFAULT_MIN_FREE_MB, MAX_DISK_MB) * 1024 * 1024,
      idleTimeoutMs: inRange("idleTimeoutMs", options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS, Number.MAX_SAFE_INTEGER),
      logsRequests: level === "debug",
      checkAnswers: process.env.AGENT_SANDBOX_CHECK_ANSWERS === "1",
    },
  );
  if (options.handleSignals !== false) stopOnSignals(platform);
  return platform;
}

/** Whoever is not root has no templates; that there is none is not what stands in the way. */
function refuseWithoutRoot(): never {
  throw new FailedPreconditionError(ROOT_NEED);
}

function defaultPoolSize(): number {
  return fromEnvironment("POOL_SIZE") ?? Math.min(availableParallelism(), MAX_DEFAULT_POOL);
}

function fromEnvironment(name: string): number | undefined {
  const variable = `AGENT_SANDBOX_${name}`;
  const configured = process.env[variable]?.trim();
  if (!configured) return undefined;
  if (/^\d{1,15}$/.test(configured)) return Number(configured);
  throw new InvalidArgumentError(`${variable} must be a whole number, not ${JSON.stringify(configured)}`);
}

function checkDiskMb(value: number): number {
  if (value > 0 && value < MIN_DISK_MB) throw new InvalidArgumentError(`diskMb must be 0 or at least ${MIN_DISK_MB}, got ${value}`);
  return inRange("diskMb", value, MAX_DISK_MB);
}

function checkRuntime(name: string | undefined): string | undefined {
  if (!name) return undefined;
  if (ALL_RUNTIME_NAMES.includes(name)) return name;
  throw new InvalidArgumentError(`runtime must be one of ${ALL_RUNTIME_NAMES.join(", ")}, got "${name}"`);
}

function oneOf<T extends string>(name: string, value: string | undefined, known: readonly T[]): T | undefined {
  if (!value) return undefined;
  const found = known.find((word) => word === value);
  if (found === undefined) throw new InvalidArgumentError(`${name} must be one of ${known.join(", ")}, got "${value}"`);
  return found;
}

function inRange(name: string, value: number, maximum: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= maximum) return value;
  throw new InvalidArgumentError(`${name} must be a whole number from 0 to ${maximum}, got ${value}`);
}

function stopOnSignals(platform: Platform): void {
  const stop = () => {
    // A failure to tidy up was logged; the process ends either way, and the next platform buries what is left.
    platform.close().catch(() => undefined);
  };
  process.on("SIGTERM", stop).on("SIGINT", stop);
  void platform.closed.then(() => process.off("SIGTERM", stop).off("SIGINT", stop));
}
