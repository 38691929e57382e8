import { matchesHost } from "./host-name.js";
import { isInNetwork, parseAddress, parseNetwork } from "./ip-network.js";
import type { Destination } from "./network-policy.js";

/** A proxy that this machine itself needs to reach the internet. */
export interface HostProxy {
  /** `http:`, `https:`, `socks5:` or `socks5h:`. */
  readonly url: URL;
}

/** What a connection carries: plain HTTP requests, or anything as a tunnel. */
export type Traffic = "http" | "tunnel";

type Environment = Readonly<Record<string, string | undefined>>;

const PROTOCOLS = ["http:", "https:", "socks5:", "socks5h:"];

/** Reads `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` in either case, as curl understands them. */
export class HostProxies {
  readonly #http: URL | undefined;
  readonly #tunnel: URL | undefined;
  readonly #exceptions: readonly string[];

  constructor(env: Environment) {
    const all = read(env, "all_proxy");
    this.#http = toUrl(read(env, "http_proxy") ?? all);
    this.#tunnel = toUrl(read(env, "https_proxy") ?? all);
    this.#exceptions = (read(env, "no_proxy") ?? "")
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((entry) => entry !== "");
  }

  /** The proxy for a destination; `undefined` when this machine reaches it itself. */
  find(destination: Destination, traffic: Traffic): HostProxy | undefined {
    const url = traffic === "http" ? this.#http : this.#tunnel;
    return url === undefined || this.#exceptions.some((entry) => isExcepted(entry, destination)) ? undefined : { url };
  }
}

/** `Basic` credentials of a proxy URL; `undefined` when it has none. */
export function toBasicCredentials({ username, password }: URL): string | undefined {
  if (username === "" && password === "") return undefined;
  return `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64")}`;
}

function read(env: Environment, name: string): string | undefined {
  return env[name] || env[name.toUpperCase()] || undefined;
}

function toUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  return url !== null && PROTOCOLS.includes(url.protocol) ? url : undefined;
}

function isExcepted(entry: string, { host, port }: Destination): boolean {
  if (entry === "*") return true;
  const address = parseAddress(host);
  const network = parseNetwork(entry);
  if (network !== undefined) return address !== undefined && isInNetwork(address, network);
  const [name = "", only] = entry.split(":");
  if (only !== undefined && only !== String(port)) return false;
  const bare = name.replace(/^\*?\./, "");
  return host === bare || matchesHost(`*.${bare}`, host);
}
