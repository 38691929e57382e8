import { readFile } from "node:fs/promises";

/** A TCP port that is listened on. */
export interface ListeningPort {
  readonly port: number;
  readonly address: string;
}

const LISTEN_STATE = "0A";

/** The TCP ports that are listened on, sorted (proc_pid_net(5), `tcp` and `tcp6`). */
export async function readListeningPorts(): Promise<readonly ListeningPort[]> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")));
  const found = tables.flatMap((table) => table.split("\n").slice(1)).flatMap((line) => parseLine(line) ?? []);
  const unique = new Map(found.map((entry) => [`${entry.port} ${entry.address}`, entry]));
  return [...unique.values()].sort((a, b) => a.port - b.port || (a.address < b.address ? -1 : 1));
}

function parseLine(line: string): ListeningPort | undefined {
  const [, local, , state] = line.trim().split(/\s+/);
  const [address = "", port = ""] = local?.split(":") ?? [];
  if (state !== LISTEN_STATE) return undefined;
  return { port: Number.parseInt(port, 16), address: address.length === 8 ? toIpv4(address) : toIpv6(address) };
}

/** Each group of 32 bits is written as one number of this machine, which is little-endian. */
function toIpv4(hex: string): string {
  return [...Buffer.from(hex, "hex").reverse()].join(".");
}

function toIpv6(hex: string): string {
  const bytes = Buffer.from(hex, "hex").swap32();
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
