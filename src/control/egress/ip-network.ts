import { isIP } from "node:net";

/** An IP address as a number. IPv4-mapped IPv6 addresses (`::ffff:a.b.c.d`) are the IPv4 addresses that they mean. */
export interface IpAddress {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** A range of addresses that share a prefix. */
export interface IpNetwork extends IpAddress {
  readonly prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;
const MAPPED = 0xffffn;

/** Read an address; `undefined` when the text is none. Zones (`fe80::1%eth0`) are none. */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.includes("%")) return undefined;
  const version = isIP(text);
  if (version === 4) return { version: 4, value: toNumber4(text) };
  if (version !== 6) return undefined;
  const value = toNumber6(text);
  return value >> 32n === MAPPED ? { version: 4, value: value & 0xffff_ffffn } : { version: 6, value };
}

/** Read an address or a CIDR range; bits behind the prefix are ignored. `undefined` when the text is neither. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [host = "", length, ...rest] = text.split("/");
  const version = isIP(host);
  const address = parseAddress(host);
  if (address === undefined || rest.length > 0 || (length !== undefined && !/^\d{1,3}$/.test(length))) return undefined;
  // The prefix of a mapped range counts the 96 bits in front of the IPv4 address.
  const isMapped = version === 6 && address.version === 4;
  const prefix = length === undefined ? BITS[address.version] : Number(length) - (isMapped ? 96 : 0);
  if (prefix < 0 || prefix > BITS[address.version]) return undefined;
  const free = BigInt(BITS[address.version] - prefix);
  return { version: address.version, value: (address.value >> free) << free, prefix };
}

/** True when the address is in the range. */
export function isInNetwork(address: IpAddress, network: IpNetwork): boolean {
  if (address.version !== network.version) return false;
  const free = BigInt(BITS[network.version] - network.prefix);
  return address.value >> free === network.value >> free;
}

/** True when every address of `inner` is in `outer`. */
export function isWithin(inner: IpNetwork, outer: IpNetwork): boolean {
  return inner.prefix >= outer.prefix && isInNetwork(inner, outer);
}

/** True for `0.0.0.0/0` and `::/0`. */
export function isEverything(network: IpNetwork): boolean {
  return network.prefix === 0;
}

function toNumber4(text: string): bigint {
  return text.split(".").reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function toNumber6(text: string): bigint {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const tail = toNumber4(dotted?.[2] ?? "0.0.0.0");
  const hex = dotted === null ? text : `${dotted[1]}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const [left = "", right] = hex.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":"));
  const head = groups(left);
  const end = groups(right ?? "");
  const zeros = right === undefined ? [] : Array.from({ length: 8 - head.length - end.length }, () => "0");
  return [...head, ...zeros, ...end].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
