import { readConfigFile, readEnvironment } from "#runtime";
import { AuthenticationError, InvalidArgumentError } from "../errors/error-classes.js";
import { isFcHost, toFcEndpoints } from "../shared/fc-endpoints.js";
import type { Logger } from "./logger.js";
import type { Telemetry } from "./telemetry.js";

/** What every call that talks to a server takes. */
export interface RequestOptions {
  /** Aborting rejects the call with `signal.reason`. On streams it stays active for the whole stream. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds one round trip may take, retries included; on streams, until the first message. `0` never ends. @defaultValue 60_000 */
  readonly requestTimeoutMs?: number | undefined;
}

/** `cloud` is a server of the wire that is reached with a URL and a key; `local` is the platform on this machine. */
export type PlatformKind = "cloud" | "local";

/** How messages to the daemon are encoded. `auto` speaks binary where the server says that it understands it, else JSON. */
export type Encoding = "auto" | "json" | "binary";

/** What a server adds to the wire and leaves out of it. `fc` is Alibaba Cloud's, `e2b` everyone else's, ours too. */
export type ServiceKind = "e2b" | "fc";

/** Gives the API key for a request; asked before each, and once more with the key that the server refused. */
export type ApiKeyProvider = (options: { readonly signal: AbortSignal; readonly refused?: string | undefined }) => Promise<string>;

/** Where the platform is and how to talk to it. Each absent option comes from the environment, then the configuration file. */
export interface ConnectionOptions extends RequestOptions {
  /** The key, or what gives one that may change. Environment: `AGENT_SANDBOX_API_KEY`, `E2B_API_KEY`, `SANDBOX_API_KEY`. */
  readonly apiKey?: string | ApiKeyProvider | undefined;
  /**
   * Domain of the service; the API is at `https://api.<domain>` unless `apiUrl` says otherwise. Environment: `AGENT_SANDBOX_DOMAIN`, `E2B_DOMAIN`,
   * `SANDBOX_DOMAIN`, else the region of the FC service in `AGENT_SANDBOX_REGION`, `SANDBOX_REGION`. @defaultValue "e2b.app"
   */
  readonly domain?: string | undefined;
  /** URL of the control plane. Environment: `AGENT_SANDBOX_API_URL`, `E2B_API_URL`, `SANDBOX_API_BASE_URL`. */
  readonly apiUrl?: string | undefined;
  /**
   * One URL for the daemons of all sandboxes; the server tells them apart by header. Environment, unless both `apiUrl` and `domain` are options:
   * `AGENT_SANDBOX_SANDBOX_URL`, `E2B_SANDBOX_URL`.
   */
  readonly sandboxUrl?: string | undefined;
  /** Force one kind. Absent: `local` when neither a key nor a URL is found anywhere. */
  readonly platform?: PlatformKind | undefined;
  /** @defaultValue "fc" where the host of the API or of sandboxes is of that service, else "e2b" */
  readonly service?: ServiceKind | undefined;
  /** Proxy for all traffic, `http://[user:password@]host:port`. Node only. */
  readonly proxy?: string | undefined;
  /** Extra headers for the control plane. They never reach a sandbox. */
  readonly apiHeaders?: Readonly<Record<string, string>> | undefined;
  /** Most repetitions of a call that may be repeated. @defaultValue 3 */
  readonly retries?: number | undefined;
  /** @defaultValue "auto" */
  readonly encoding?: Encoding | undefined;
  /** Told of every answer and failure: operation, sandbox, status, duration, request id. Never headers, variables or content. */
  readonly logger?: Logger | undefined;
  /** Watches calls by spans and metrics. `createTelemetry()` of `@agent-sandbox/sdk/telemetry` makes one for OpenTelemetry. */
  readonly telemetry?: Telemetry | undefined;
  /** Used for every request in place of the built-in HTTP client. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** The settings of one client, resolved once and frozen. */
export interface Config {
  readonly platform: PlatformKind;
  readonly service: ServiceKind;
  readonly apiKey: string | ApiKeyProvider | undefined;
  readonly domain: string;
  readonly apiUrl: string;
  readonly sandboxUrl: string | undefined;
  /** Base of the content of volumes, where it is not the control plane's. Environment only: `AGENT_SANDBOX_VOLUME_API_URL`, `E2B_VOLUME_API_URL`. */
  readonly volumeUrl: string | undefined;
  readonly requestTimeoutMs: number;
  readonly proxy: string | undefined;
  readonly apiHeaders: Readonly<Record<string, string>>;
  readonly retries: number;
  readonly encoding: Encoding;
  readonly logger: Logger | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly fetch: typeof globalThis.fetch | undefined;
}

/** Settings that have text form, by the name that the configuration file uses. */
export type ConfigFile = Readonly<Record<string, string>>;

const DEFAULT_DOMAIN = "e2b.app";
const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 3;
const PLATFORMS: readonly string[] = ["cloud", "local"] satisfies PlatformKind[];
const SERVICES: readonly unknown[] = ["e2b", "fc", undefined] satisfies (ServiceKind | undefined)[];
const ENCODINGS: readonly string[] = ["auto", "json", "binary"] satisfies Encoding[];

/** Environment names of each setting, strongest first. */
export const VARIABLES = {
  api_key: ["AGENT_SANDBOX_API_KEY", "E2B_API_KEY", "SANDBOX_API_KEY"],
  domain: ["AGENT_SANDBOX_DOMAIN", "E2B_DOMAIN", "SANDBOX_DOMAIN"],
  region: ["AGENT_SANDBOX_REGION", "SANDBOX_REGION"],
  api_url: ["AGENT_SANDBOX_API_URL", "E2B_API_URL", "SANDBOX_API_BASE_URL"],
  sandbox_url: ["AGENT_SANDBOX_SANDBOX_URL", "E2B_SANDBOX_URL"],
  volume_url: ["AGENT_SANDBOX_VOLUME_API_URL", "E2B_VOLUME_API_URL"],
  platform: ["AGENT_SANDBOX_PLATFORM"],
  proxy: ["AGENT_SANDBOX_PROXY"],
  encoding: ["AGENT_SANDBOX_ENCODING"],
} as const;

/**
 * Resolve the settings of a client: call option, then environment, then configuration file.
 *
 * @throws {@link InvalidArgumentError} a setting is malformed; {@link AuthenticationError} `platform: "cloud"` without a key.
 */
export function resolveConfig(options: ConnectionOptions = {}): Config {
  const environment = readEnvironment();
  const file = readConfigFile();
  const setting = (name: keyof typeof VARIABLES): string | undefined => {
    for (const variable of VARIABLES[name]) {
      const value = environment[variable]?.trim();
      if (value) return value;
    }
    return file[name] || undefined;
  };

  const apiKey = options.apiKey ?? setting("api_key");
  const givenApiUrl = options.apiUrl ?? setting("api_url");
  const domain = options.domain ?? setting("domain") ?? (apiKey && !givenApiUrl ? domainOfRegion(setting("region")) : undefined);
  // A caller who names both hosts of a service means that service for everything that is sent with its tokens.
  const isPlaced = options.apiUrl !== undefined && options.domain !== undefined;
  const sandboxUrl = options.sandboxUrl ?? (isPlaced ? undefined : setting("sandbox_url"));
  const volumeUrl = isPlaced ? undefined : setting("volume_url");
  const wanted = options.platform ?? setting("platform");
  if (wanted !== undefined && !PLATFORMS.includes(wanted)) {
    throw new InvalidArgumentError(`platform must be "cloud" or "local", not ${JSON.stringify(wanted)}`);
  }
  const encoding = options.encoding ?? setting("encoding") ?? "auto";
  if (!ENCODINGS.includes(encoding)) {
    throw new InvalidArgumentError(`encoding must be "auto", "json" or "binary", not ${JSON.stringify(encoding)}`);
  }
  const platform = wanted ?? (apiKey || givenApiUrl || domain || sandboxUrl ? "cloud" : "local");
  if (wanted === "cloud" && !apiKey) {
    throw new AuthenticationError('platform "cloud" needs an API key: pass apiKey or set AGENT_SANDBOX_API_KEY');
  }
  if (!SERVICES.includes(options.service)) {
    throw new InvalidArgumentError(`service must be "e2b" or "fc", not ${JSON.stringify(options.service)}`);
  }
  const apiUrl = checkUrl("apiUrl", givenApiUrl ?? `https://api.${domain ?? DEFAULT_DOMAIN}`);
  const service = options.service ?? (isFcHost(new URL(apiUrl).hostname) || isFcHost(domain ?? "") ? "fc" : "e2b");
  if (service === "fc" && encoding === "binary") {
    throw new InvalidArgumentError('encoding must not be "binary" here: the FC service refuses binary messages');
  }
  return Object.freeze({
    // Both casts follow the two checks above.
    platform: platform as PlatformKind,
    encoding: encoding as Encoding,
    service,
    apiKey,
    domain: domain ?? DEFAULT_DOMAIN,
    apiUrl,
    sandboxUrl: sandboxUrl === undefined ? undefined : checkUrl("sandboxUrl", sandboxUrl),
    volumeUrl: volumeUrl === undefined ? undefined : checkUrl("volumeUrl", volumeUrl),
    requestTimeoutMs: checkTimeoutMs("requestTimeoutMs", options.requestTimeoutMs) ?? DEFAULT_REQUEST_TIMEOUT_MS,
    proxy: checkProxy(options.proxy ?? setting("proxy")),
    apiHeaders: Object.freeze({ ...options.apiHeaders }),
    retries: checkRetries(options.retries),
    logger: options.logger,
    telemetry: options.telemetry,
    fetch: options.fetch,
  });
}

/**
 * Check a duration; `undefined` stays absent.
 *
 * @throws {@link InvalidArgumentError} not a finite number of at least 0.
 */
export function checkTimeoutMs(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    throw new InvalidArgumentError(`${name} must be a finite number of milliseconds of at least 0, not ${String(value)}`);
  }
  return Math.ceil(value);
}

/** A region is one of the FC service. */
function domainOfRegion(region: string | undefined): string | undefined {
  return region === undefined ? undefined : toFcEndpoints({ region }).domain;
}

function checkRetries(value: number | undefined): number {
  if (value === undefined) return DEFAULT_RETRIES;
  if (!Number.isInteger(value) || value < 0) throw new InvalidArgumentError(`retries must be a whole number of at least 0, not ${value}`);
  return value;
}

function checkUrl(name: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new InvalidArgumentError(`${name} must be an http or https URL, not ${JSON.stringify(value)}`);
  }
  return value.replace(/\/+$/, "");
}

function checkProxy(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  // The value may hold a password, so the message does not repeat it.
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol)) {
    throw new InvalidArgumentError("proxy must be a URL such as http://user:password@host:port");
  }
  return value;
}
