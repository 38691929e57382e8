import { networkInterfaces } from "node:os";
import { type IpAddress, type IpNetwork, isInNetwork, parseAddress, parseNetwork } from "./ip-network.js";

/** A range that is no part of the public internet. */
export interface SpecialRange {
  readonly name: string;
  readonly network: IpNetwork;
}

/** Ranges that sandboxes reach only when an allow entry lies inside them (IANA special-purpose address registries). */
export const SPECIAL_RANGES: readonly SpecialRange[] = [
  ...ranges("this network", ["0.0.0.0/8"]),
  ...ranges("a private network", ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"]),
  ...ranges("a carrier's shared network", ["100.64.0.0/10"]),
  ...ranges("loopback", ["127.0.0.0/8", "::1/128"]),
  ...ranges("link-local, where machines have their metadata service", ["169.254.0.0/16", "fe80::/10"]),
  ...ranges("reserved for protocols", ["192.0.0.0/24", "100::/64", "2001::/23", "5f00::/16"]),
  ...ranges("reserved for benchmarks", ["198.18.0.0/15"]),
  ...ranges("a relay into other networks", ["192.88.99.0/24", "2002::/16", "64:ff9b:1::/48"]),
  ...ranges("multicast", ["224.0.0.0/4", "ff00::/8"]),
  ...ranges("reserved or broadcast", ["240.0.0.0/4"]),
  // The unspecified address, and the IPv4-compatible addresses of old.
  ...ranges("unspecified", ["::/96"]),
];

const NAT64 = network("64:ff9b::/96");

/** The address that decides: inside a NAT64 address stands the IPv4 address that is really reached. */
export function toDecidingAddress(address: IpAddress): IpAddress {
  return isInNetwork(address, NAT64) ? { version: 4, value: address.value & 0xffff_ffffn } : address;
}

/** The range that makes an address special; `undefined` for public ones. */
export function findSpecialRange(address: IpAddress): SpecialRange | undefined {
  return SPECIAL_RANGES.find((range) => isInNetwork(address, range.network));
}

/** Addresses of this machine's own interfaces, as they are now. */
export function ownAddresses(): readonly IpAddress[] {
  return Object.values(networkInterfaces())
    .flat()
    .flatMap((entry) => parseAddress(entry?.address.split("%")[0] ?? "") ?? []);
}

function ranges(name: string, texts: readonly string[]): SpecialRange[] {
  return texts.map((text) => ({ name, network: network(text) }));
}

function network(text: string): IpNetwork {
  // The texts stand in this file.
  return parseNetwork(text) as IpNetwork;
}
