import type { components } from "../../gen/openapi/lifecycle.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestClient } from "../transport/rest.js";
import { onSandbox } from "./on-sandbox.js";

type Schemas = components["schemas"];

/** A SOCKS5 proxy through which outgoing connections go after they were allowed. */
export interface EgressProxy {
  /** `host:port`. */
  readonly address: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** What the platform does to HTTPS requests for one host. */
export interface NetworkRule {
  readonly transform?: {
    /** Headers that replace those of the request; `Secret.fill(name)` gives a value that only the platform knows. */
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** Rules for outgoing traffic. */
export interface NetworkUpdate {
  /** Addresses, CIDR ranges, host names and `*.` names that win over all of `denyOut`; an empty list allows nothing. */
  readonly allowOut?: readonly string[] | undefined;
  /** Addresses and CIDR ranges. */
  readonly denyOut?: readonly string[] | undefined;
  readonly egressProxy?: EgressProxy | null | undefined;
  /** Rules by host name or `*.` name. */
  readonly rules?: Readonly<Record<string, readonly NetworkRule[]>> | undefined;
  /** False denies everything that `allowOut` does not name. */
  readonly allowInternetAccess?: boolean | undefined;
}

/** Rules for traffic in both directions, as creation takes and info gives them. */
export interface SandboxNetwork extends Omit<NetworkUpdate, "allowInternetAccess" | "egressProxy"> {
  readonly egressProxy?: EgressProxy | undefined;
  /** Ports answer without a token. @defaultValue true */
  readonly allowPublicTraffic?: boolean | undefined;
  /** Host header that programs behind ports see; `${PORT}` stands for the port. */
  readonly maskRequestHost?: string | undefined;
  /** Ports whose program speaks TLS itself. */
  readonly httpsPorts?: readonly number[] | undefined;
}

/** One connection or request that a sandbox tried. */
export interface NetworkLogEntry {
  readonly at: Date;
  readonly protocol: "connect" | "http" | "https" | "socks5";
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** Address that was connected to. */
  readonly address?: string;
  readonly decision: "pending" | "allowed" | "denied" | "failed";
  /** The rule that decided, or what went wrong. */
  readonly reason: string;
  /** Status of the HTTP answer. */
  readonly status?: number;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  /** Absent while it lasts. */
  readonly durationMs?: number;
}

/** The network of sandboxes in domain terms. */
export interface NetworkClient {
  update(sandboxId: string, update: NetworkUpdate, options: RequestOptions): Promise<void>;
  log(sandboxId: string, limit: number | undefined, options: RequestOptions): Promise<readonly NetworkLogEntry[]>;
}

export function createNetworkClient(rest: RestClient): NetworkClient {
  return {
    async update(sandboxId, { allowInternetAccess, ...rules }, options) {
      const body: Schemas["NetworkUpdate"] = {
        ...toEgressWire(rules),
        ...(allowInternetAccess !== undefined && { allow_internet_access: allowInternetAccess }),
      };
      await rest.call(onSandbox("sandbox.updateNetwork", sandboxId, options), (client) =>
        client.PUT("/sandboxes/{sandboxID}/network", { params: { path: { sandboxID: sandboxId } }, body }),
      );
    },
    async log(sandboxId, limit, options) {
      const { data } = await rest.call(onSandbox("network.log", sandboxId, options), (client) =>
        client.GET("/sandboxes/{sandboxID}/network/log", {
          params: { path: { sandboxID: sandboxId }, query: limit === undefined ? {} : { limit } },
        }),
      );
      return (data ?? []).map(({ at, ...entry }) => ({ at: new Date(at), ...entry }));
    },
  };
}

/** Rules of a creation as the wire has them. */
export function toNetworkWire(network: SandboxNetwork): Schemas["NetworkConfig"] {
  const { allowPublicTraffic, maskRequestHost, httpsPorts } = network;
  return {
    ...toEgressWire(network),
    ...(allowPublicTraffic !== undefined && { allowPublicTraffic }),
    ...(maskRequestHost !== undefined && { maskRequestHost }),
    ...(httpsPorts !== undefined && { httpsPorts: [...httpsPorts] }),
  };
}

type EgressRules = Pick<NetworkUpdate, "allowOut" | "denyOut" | "egressProxy" | "rules">;

function toEgressWire({ allowOut, denyOut, egressProxy, rules }: EgressRules) {
  return {
    ...(allowOut !== undefined && { allowOut: [...allowOut] }),
    ...(denyOut !== undefined && { denyOut: [...denyOut] }),
    ...(egressProxy !== undefined && { egressProxy: egressProxy === null ? null : toProxyWire(egressProxy) }),
    ...(rules !== undefined && { rules: Object.fromEntries(Object.entries(rules).map(([host, list]) => [host, list.map(toRuleWire)])) }),
  };
}

/** Rules for traffic as info has them. */
export function toNetwork({ egressProxy, ...network }: Schemas["NetworkConfig"]): SandboxNetwork {
  return { ...network, ...(egressProxy && { egressProxy }) };
}

function toProxyWire({ address, username, password }: EgressProxy): NonNullable<Schemas["EgressProxy"]> {
  return { address, ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function toRuleWire({ transform }: NetworkRule) {
  const headers = transform?.headers;
  return headers === undefined ? {} : { transform: { headers: { ...headers } } };
}
