import { matchesHost, toHostPattern } from "./host-name.js";
import { type IpAddress, type IpNetwork, isEverything, isInNetwork, isWithin, parseAddress, parseNetwork } from "./ip-network.js";
import type { EgressConfig } from "./network-config.js";
import { findSpecialRange, toDecidingAddress } from "./special-addresses.js";

/** Where a connection wants to go. */
export interface Destination {
  /** Name in the form of `toHostName`, or an IP address. */
  readonly host: string;
  readonly port: number;
}

/** Whether a connection may go on, and the rule that says so. */
export interface Verdict {
  readonly isAllowed: boolean;
  readonly reason: string;
}

/** Ports on which host names decide: HTTP and TLS, as on the hosted services. */
const NAMED_PORTS: readonly number[] = [80, 443];

/**
 * The rules of one sandbox for outgoing traffic. Pure: the same configuration and address give the same verdict.
 *
 * In this order: an allow entry wins; special addresses (private, loopback, link-local, this machine's own) are refused; then the deny
 * entries; what is left is allowed. `allowInternetAccess: false` and an empty allow list are a deny entry for everything.
 *
 * A special address is allowed only by an entry that lies inside its range: neither a host name, which its owner may resolve to
 * anything, nor `0.0.0.0/0` reaches it.
 */
export class NetworkPolicy {
  readonly #allowedNetworks: readonly IpNetwork[];
  readonly #allowedHosts: readonly string[];
  readonly #deniedNetworks: readonly IpNetwork[];
  readonly #deniesAll: string | undefined;

  constructor({ allowInternetAccess, network }: EgressConfig) {
    const allowOut = network.allowOut ?? [];
    this.#allowedNetworks = allowOut.flatMap((entry) => parseNetwork(entry) ?? []);
    this.#allowedHosts = allowOut.flatMap((entry) => (parseNetwork(entry) === undefined ? (toHostPattern(entry) ?? []) : []));
    this.#deniedNetworks = (network.denyOut ?? []).flatMap((entry) => parseNetwork(entry) ?? []);
    if (allowInternetAccess === false) this.#deniesAll = "allowInternetAccess is false";
    else if (network.allowOut?.length === 0) this.#deniesAll = "allowOut is empty";
    // An IPv4 entry for everything means everything: IPv6 is no way around it.
    else if (this.#deniedNetworks.some(isEverything)) this.#deniesAll = "denyOut has everything";
  }

  /** True when no connection can ever be allowed, so there is no need for a way out at all. */
  get isClosed(): boolean {
    return this.#deniesAll !== undefined && this.#allowedNetworks.length === 0 && this.#allowedHosts.length === 0;
  }

  /**
   * Decide about a connection to one address.
   *
   * @param own addresses of this machine, which count as special
   */
  decide(destination: Destination, address: IpAddress, own: readonly IpAddress[]): Verdict {
    const deciding = toDecidingAddress(address);
    const special = own.some((one) => isSame(one, deciding)) ? "an address of this machine" : findSpecialRange(deciding)?.name;
    const entry = this.#allowedNetworks.find(
      (network) => isCovered(network, deciding) && (special === undefined || isMeant(network, deciding)),
    );
    if (entry !== undefined) return allow("allowOut has the address");
    if (special !== undefined) return refuse(`the address is ${special}; only an entry of allowOut for exactly that opens it`);
    return this.#decideByName(destination) ?? this.#decideByDenial(deciding);
  }

  /** Decide where no address is known, since a proxy behind this platform looks the name up. */
  decideUnresolved(destination: Destination): Verdict {
    const address = parseAddress(destination.host);
    if (address !== undefined) return this.decide(destination, address, []);
    if (this.#allowedNetworks.some(isEverything)) return allow("allowOut has everything");
    const byName = this.#decideByName(destination);
    if (byName !== undefined) return byName;
    return this.#deniesAll === undefined ? allow("no rule denies it") : refuse(this.#deniesAll);
  }

  #decideByName({ host, port }: Destination): Verdict | undefined {
    const pattern = this.#allowedHosts.find((one) => matchesHost(one, host));
    if (pattern === undefined) return undefined;
    if (NAMED_PORTS.includes(port)) return allow(`allowOut has ${pattern}`);
    return this.#deniesAll === undefined
      ? undefined
      : refuse(`allowOut has ${pattern}, but names open the ports ${NAMED_PORTS.join(" and ")} only; allow the address for others`);
  }

  #decideByDenial(address: IpAddress): Verdict {
    if (this.#deniesAll !== undefined) return refuse(this.#deniesAll);
    return this.#deniedNetworks.some((network) => isInNetwork(address, network))
      ? refuse("denyOut has the address")
      : allow("no rule denies it");
  }
}

function isCovered(network: IpNetwork, address: IpAddress): boolean {
  return isEverything(network) || isInNetwork(address, network);
}

/** The entry speaks of a special address itself: it lies inside the special range, or is the address alone. */
function isMeant(network: IpNetwork, address: IpAddress): boolean {
  const range = findSpecialRange(address)?.network;
  const isAlone = network.prefix === (network.version === 4 ? 32 : 128);
  return isAlone || (range !== undefined && isWithin(network, range));
}

function isSame(a: IpAddress, b: IpAddress): boolean {
  return a.version === b.version && a.value === b.value;
}

function allow(reason: string): Verdict {
  return { isAllowed: true, reason };
}

function refuse(reason: string): Verdict {
  return { isAllowed: false, reason };
}
