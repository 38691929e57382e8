import { InvalidArgumentError } from "../../errors/error-classes.js";

/** A range of addresses that share a prefix. */
export interface Cidr {
  readonly version: 4 | 6;
  readonly value: bigint;
  readonly prefix: number;
}

const BITS = { 4: 32, 6: 128 } as const;

/** Read an address or a CIDR range. @throws {@link InvalidArgumentError} it is neither; `name` says where it stands. */
export function parseCidr(name: string, text: string): Cidr {
  const [, host = "", length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const value = parse4(host) ?? parse6(host);
  const version = host.includes(":") ? 6 : 4;
  const prefix = length === undefined ? BITS[version] : Number(length);
  if (value === undefined || prefix > BITS[version])
    throw new InvalidArgumentError(`${name} has ${JSON.stringify(text)}, which is no IP address and no CIDR range`);
  const free = BigInt(BITS[version] - prefix);
  return { version, value: (value >> free) << free, prefix };
}

export function formatCidr({ version, value, prefix }: Cidr): string {
  const [groupBits, separator, radix] = version === 4 ? [8n, ".", 10] : [16n, ":", 16];
  const count = BITS[version] / Number(groupBits);
  const groups = Array.from({ length: count }, (_, at) =>
    ((value >> (groupBits * BigInt(count - 1 - at))) & ((1n << groupBits) - 1n)).toString(radix),
  );
  return `${groups.join(separator)}/${prefix}`;
}

/** True when every address of `inner` is in `outer`. */
export function isWithin(inner: Cidr, outer: Cidr): boolean {
  const free = BigInt(BITS[outer.version] - outer.prefix);
  return inner.version === outer.version && inner.prefix >= outer.prefix && inner.value >> free === outer.value >> free;
}

/** What is left of some ranges without the addresses of others. */
export function subtractCidrs(from: readonly Cidr[], taken: readonly Cidr[]): Cidr[] {
  return taken.reduce<Cidr[]>((left, one) => left.flatMap((range) => subtract(range, one)), [...from]);
}

/** Halves, as long as the taken range lies in one of them. */
function subtract(range: Cidr, taken: Cidr): Cidr[] {
  if (isWithin(range, taken)) return [];
  if (!isWithin(taken, range)) return [range];
  const prefix = range.prefix + 1;
  const low = { ...range, prefix };
  const high = { ...low, value: range.value | (1n << BigInt(BITS[range.version] - prefix)) };
  return [low, high].flatMap((half) => subtract(half, taken));
}

function parse4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || parts.some((part) => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

/** The parser of URLs knows every spelling and gives groups of hexadecimal digits. */
function parse6(text: string): bigint | undefined {
  if (!text.includes(":") || !URL.canParse(`http://[${text}]/`)) return undefined;
  const [head = "", tail] = new URL(`http://[${text}]/`).hostname.slice(1, -1).split("::");
  const groups = (part: string | undefined) => (part ? part.split(":") : []);
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => "0");
  return [...groups(head), ...zeros, ...groups(tail)].reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n);
}
