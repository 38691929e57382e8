import { AuthenticationError } from "../../errors/error-classes.js";
import { createFcControlClient, type FcAccessKey, type FcControlClient } from "../../protocol/fc-control-client.js";
import { FcKeyExchange, type FcKeyExchangeOptions } from "../../protocol/fc-key-exchange.js";
import { readFcSettings } from "../../protocol/fc-settings.js";
import { type FcFamily, type FcRegion, toFcEndpoints } from "../../shared/fc-endpoints.js";
import { type ApiKeyProvider, type ConnectionOptions, resolveConfig } from "../../transport/config.js";

/** Which account, where. Each absent option comes from the environment. */
export interface FcAccountOptions
  extends Pick<ConnectionOptions, "requestTimeoutMs" | "proxy" | "retries" | "logger" | "telemetry" | "fetch"> {
  /** Environment: `AGENT_SANDBOX_REGION`, `SANDBOX_REGION`, `FCSANDBOX_REGION_ID`. @defaultValue "cn-hangzhou" */
  readonly region?: FcRegion | undefined;
  /** Environment: `ALIBABA_CLOUD_ACCESS_KEY_ID` and `…_SECRET`, `ALIBABA_CLOUD_SECURITY_TOKEN`, or the same with `ALICLOUD_`. */
  readonly accessKey?: FcAccessKey | undefined;
  /** URL of the account's control plane. Environment, where the option `region` is absent: `FCSANDBOX_ENDPOINT`. @defaultValue that of the region */
  readonly controlUrl?: string | undefined;
}

/** How the FC service is reached. */
export interface FcConnectionOptions
  extends Omit<ConnectionOptions, "service" | "platform" | "encoding" | keyof FcAccountOptions>,
    FcAccountOptions,
    FcKeyExchangeOptions {
  /** Family of host names. @defaultValue "fc", `e2b.fc.aliyuncs.com` */
  readonly family?: FcFamily | undefined;
  /** Host names for programs inside a VPC with an endpoint of the service. @defaultValue false */
  readonly privateLink?: boolean | undefined;
}

/**
 * Options for every call of `Sandbox`. Disposing deletes the API keys that were made for it, after which calls that need one fail with a
 * `FailedPreconditionError`; without such there is nothing to dispose.
 */
export interface FcConnection extends ConnectionOptions, AsyncDisposable {
  readonly region: FcRegion;
}

const DEFAULT_REGION = "cn-hangzhou";

/**
 * Settings for the FC service in one region: pass them to `Sandbox` or `FcSandbox`.
 *
 * The credential is the option `apiKey`, else `accessKey`, else an API key and then an access key of the environment. An access key is
 * exchanged for API keys that live an hour, the first one with the first request. The options `region`, `family` and `privateLink` decide all
 * addresses, also against URLs in the environment.
 *
 * @throws {@link AuthenticationError} there is no credential; {@link InvalidArgumentError} a setting is malformed.
 */
export function fcConnection(options: FcConnectionOptions = {}): FcConnection {
  const { region: _region, accessKey: _key, controlUrl: _url, keyLifeMs, refreshAheadMs, family, privateLink, ...own } = options;
  // The local platform is only looked for when a call is made; this reads what the environment says.
  const ambient = resolveConfig({ platform: "local", encoding: "json" });
  const isAmbient = options.region === undefined && family === undefined && privateLink === undefined && ambient.service === "fc";
  const region = isAmbient ? regionOf(ambient.apiUrl) : toRegion(options);
  const endpoints = isAmbient ? ambient : toFcEndpoints({ region, family, privateLink });
  const accessKey = options.accessKey ?? (ambient.apiKey === undefined ? readFcSettings().accessKey : undefined);
  const exchange =
    options.apiKey === undefined && accessKey !== undefined
      ? new FcKeyExchange(fcControl({ ...options, region, accessKey }), { keyLifeMs, refreshAheadMs })
      : undefined;
  const apiKey = options.apiKey ?? (exchange === undefined ? ambient.apiKey : (call: Parameters<ApiKeyProvider>[0]) => exchange.get(call));
  if (apiKey === undefined) throw new AuthenticationError(`no credential for the FC service: pass apiKey or accessKey, ${OR_SET}`);
  return {
    ...own,
    region,
    apiKey,
    domain: options.domain ?? endpoints.domain,
    apiUrl: options.apiUrl ?? endpoints.apiUrl,
    // That of the environment belongs to the rest of the environment: another place would be told the tokens of these sandboxes.
    sandboxUrl:
      options.sandboxUrl ?? (isAmbient && options.domain === undefined && options.apiUrl === undefined ? ambient.sandboxUrl : undefined),
    service: "fc",
    platform: "cloud",
    encoding: "json",
    [Symbol.asyncDispose]: async () => exchange?.[Symbol.asyncDispose](),
  };
}

const OR_SET = "or set E2B_API_KEY, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET";

/**
 * The control plane of the account, whose calls are signed with an access key: API keys, templates, and any other operation by its name.
 *
 * @throws {@link AuthenticationError} there is no access key.
 */
export function fcControl(options: FcAccountOptions = {}): FcControlClient {
  const accessKey = options.accessKey ?? readFcSettings().accessKey;
  if (accessKey === undefined) {
    throw new AuthenticationError(
      "no access key for the FC service: pass accessKey, or set ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET",
    );
  }
  return createFcControlClient({ ...options, accessKey, controlUrl: fcControlUrl(options) });
}

/** Where {@link fcControl} sends its calls to. */
export function fcControlUrl(options: FcAccountOptions = {}): string {
  const ambient = options.region === undefined ? readFcSettings().controlUrl : undefined;
  return options.controlUrl ?? ambient ?? toFcEndpoints({ region: toRegion(options) }).controlUrl;
}

function toRegion({ region }: FcAccountOptions): FcRegion {
  return region ?? readFcSettings().region ?? DEFAULT_REGION;
}

/** The region in `https://api.<region>[-vpc].…`. */
function regionOf(apiUrl: string): FcRegion {
  const label = new URL(apiUrl).hostname.split(".")[1] ?? DEFAULT_REGION;
  return label.replace(/-vpc$/, "");
}
