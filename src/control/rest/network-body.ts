import { validateHeaderName } from "node:http";
import { isIP } from "node:net";
import type { components } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { DAEMON_PORT } from "../edge/route.js";
import { toHostName, toHostPattern } from "../egress/host-name.js";
import { isEverything, parseNetwork } from "../egress/ip-network.js";
import type { EgressConfig, EgressProxyConfig, NetworkConfig } from "../egress/network-config.js";

type Wire = components["schemas"];

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that frame a message or belong to one connection; a rule for them could only break requests. */
const FORBIDDEN_HEADERS = ["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "expect"];

/**
 * Check the rules of a creation beyond their schema.
 *
 * @throws {@link InvalidArgumentError} naming the entry and what is wrong with it.
 */
export function toNetworkConfig(
  network: Wire["NetworkConfig"],
  allowInternetAccess: boolean | undefined,
  isSecure: boolean,
): NetworkConfig {
  if (network.allowPublicTraffic === false && !isSecure) {
    throw new InvalidArgumentError("network.allowPublicTraffic can be false only for a secured sandbox; set secure to true");
  }
  if (network.httpsPorts?.includes(DAEMON_PORT) === true) {
    throw new InvalidArgumentError(`network.httpsPorts must not hold ${DAEMON_PORT}, the port of the daemon`);
  }
  if (network.maskRequestHost !== undefined && !/^[\w.:[\]${}-]+$/.test(network.maskRequestHost)) {
    throw new InvalidArgumentError("network.maskRequestHost is no host name, with or without a port");
  }
  return {
    ...toEgressRules(network, allowInternetAccess, "network."),
    ...(network.allowPublicTraffic !== undefined && { allowPublicTraffic: network.allowPublicTraffic }),
    ...(network.maskRequestHost !== undefined && { maskRequestHost: network.maskRequestHost }),
    ...(network.httpsPorts !== undefined && { httpsPorts: network.httpsPorts }),
  };
}

/** Check the rules of an update. @throws as {@link toNetworkConfig}. */
export function toEgressUpdate(body: Wire["NetworkUpdate"]): EgressConfig {
  return { allowInternetAccess: body.allow_internet_access, network: toEgressRules(body, body.allow_internet_access, "") };
}

/** What info tells of the rules: all but the password. */
export function toNetworkWire({ egressProxy, ...network }: NetworkConfig): Wire["NetworkConfig"] {
  const wire = structuredClone(network) as Wire["NetworkConfig"];
  if (egressProxy === undefined || egressProxy === null) return wire;
  const { password: _, ...shown } = egressProxy;
  return { ...wire, egressProxy: shown };
}

type EgressRules = Pick<NetworkConfig, "allowOut" | "denyOut" | "egressProxy" | "rules">;

function toEgressRules(body: Wire["NetworkUpdate"], allowInternetAccess: boolean | undefined, prefix: string): EgressRules {
  const { allowOut, denyOut, egressProxy, rules } = body;
  const denied = (denyOut ?? []).map((entry) => {
    const network = parseNetwork(entry.trim());
    if (network === undefined) throw new InvalidArgumentError(`${prefix}denyOut has "${entry}", which is no IP address and no CIDR range`);
    return network;
  });
  const isClosed = allowInternetAccess === false || denied.some(isEverything);
  for (const entry of allowOut ?? []) {
    if (parseNetwork(entry.trim()) !== undefined) continue;
    if (toHostPattern(entry.trim()) === undefined) {
      throw new InvalidArgumentError(
        `${prefix}allowOut has "${entry}", which is no IP address, CIDR range, host name or "*." and a host name`,
      );
    }
    if (!isClosed) {
      throw new InvalidArgumentError(
        `${prefix}allowOut has the name "${entry}", which means nothing while everything is allowed; add "0.0.0.0/0" to denyOut`,
      );
    }
  }
  return {
    ...(allowOut !== undefined && { allowOut: allowOut.map((entry) => entry.trim()) }),
    ...(denyOut !== undefined && { denyOut: denyOut.map((entry) => entry.trim()) }),
    ...(egressProxy !== undefined && { egressProxy: toEgressProxy(egressProxy, prefix) }),
    ...(rules !== undefined && { rules: toRules(rules, prefix) }),
  };
}

function toEgressProxy(proxy: Wire["EgressProxy"], prefix: string): EgressProxyConfig | null {
  if (proxy === null) return null;
  const { address, username, password } = proxy;
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2] ?? "";
  const port = Number(match?.[3]);
  if ((isIP(host) === 0 && toHostName(host) === undefined) || !(port >= 1 && port <= 65_535)) {
    throw new InvalidArgumentError(`${prefix}egressProxy.address must be "host:port", got "${address}"`);
  }
  if ([username, password].some((text) => text !== undefined && Buffer.byteLength(text) > 255)) {
    throw new InvalidArgumentError(`${prefix}egressProxy has a user name or password above 255 bytes`);
  }
  return { address, ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
}

function toRules(rules: Wire["Rules"], prefix: string): NonNullable<NetworkConfig["rules"]> {
  return Object.fromEntries(
    Object.entries(rules).map(([name, list]) => {
      const pattern = toHostPattern(name);
      if (pattern === undefined || isIP(name) !== 0) {
        throw new InvalidArgumentError(`${prefix}rules has "${name}", which is no host name and no "*." with a host name`);
      }
      for (const [header, value] of Object.entries(list[0]?.transform?.headers ?? {})) assertHeader(header, value, `${prefix}rules`);
      return [pattern, list];
    }),
  );
}

function assertHeader(name: string, value: string, field: string): void {
  try {
    validateHeaderName(name);
  } catch {
    throw new InvalidArgumentError(`${field} has the header name ${JSON.stringify(name)}, which is none`);
  }
  if (FORBIDDEN_HEADERS.includes(name.toLowerCase())) {
    throw new InvalidArgumentError(`${field} must not set the header ${name}, which belongs to the connection`);
  }
  if (!HEADER_VALUE.test(value)) throw new InvalidArgumentError(`${field} has a value for ${name} with characters that no header may hold`);
  if (value.includes("{e2b.identity.")) {
    throw new InvalidArgumentError(`${field} uses an identity token for ${name}; identity tokens are not served, use secrets`);
  }
}
