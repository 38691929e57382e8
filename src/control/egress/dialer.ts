import { lookup } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect, isIP, type Socket } from "node:net";
import { ConnectionError, PermissionDeniedError, TimeoutError } from "../../errors/error-classes.js";
import { type HostProxies, type HostProxy, type Traffic, toBasicCredentials } from "./host-proxy.js";
import { type IpAddress, parseAddress } from "./ip-network.js";
import type { EgressProxyConfig } from "./network-config.js";
import type { Destination, NetworkPolicy } from "./network-policy.js";
import { connectThroughSocks } from "./socks-client.js";

/** What of the machine a {@link Dialer} uses. */
export interface DialerParts {
  readonly hostProxies: HostProxies;
  /** Addresses of a name, best first; rejects when there are none. @defaultValue the machine's resolver */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Addresses of this machine. */
  readonly ownAddresses: () => readonly IpAddress[];
}

/** Rules of the sandbox on whose behalf a connection is made. */
export interface DialRules {
  readonly policy: NetworkPolicy;
  readonly egressProxy: EgressProxyConfig | undefined;
}

/** A destination that the rules allow. */
export interface Permit {
  /** The addresses that were checked; empty when a proxy behind this platform looks the name up. */
  readonly addresses: readonly string[];
  readonly reason: string;
}

const CONNECT_TIMEOUT_MS = 10_000;
const RESOLVE_TIMEOUT_MS = 10_000;
/** Addresses of one name that are tried. */
const MAX_TRIES = 4;

/** Checks destinations and connects to exactly the addresses that were checked. */
export class Dialer {
  readonly #parts: DialerParts;

  constructor(parts: DialerParts) {
    this.#parts = parts;
  }

  /**
   * Look a destination up and check every address of it.
   *
   * @throws {@link PermissionDeniedError} no address is allowed; {@link ConnectionError} the name has none.
   */
  async authorize(destination: Destination, { policy, egressProxy }: DialRules, traffic: Traffic): Promise<Permit> {
    const addresses = await this.#addressesOf(destination.host);
    if (addresses.length === 0) {
      const isForProxy = egressProxy !== undefined || this.findHostProxy(destination, traffic) !== undefined;
      const verdict = policy.decideUnresolved(destination);
      if (!verdict.isAllowed) throw new PermissionDeniedError(toRefusal(destination, verdict.reason));
      if (!isForProxy) throw new ConnectionError(`the name ${destination.host} has no address`);
      return { addresses: [], reason: verdict.reason };
    }
    const own = this.#parts.ownAddresses();
    const verdicts = addresses.flatMap((text) => {
      const address = parseAddress(text);
      return address === undefined ? [] : [{ text, ...policy.decide(destination, address, own) }];
    });
    const allowed = verdicts.filter((verdict) => verdict.isAllowed);
    if (allowed[0] !== undefined) return { addresses: allowed.map((verdict) => verdict.text), reason: allowed[0].reason };
    throw new PermissionDeniedError(toRefusal(destination, verdicts[0]?.reason ?? "the name has no address that can be checked"));
  }

  /**
   * Connect to a destination that was permitted.
   *
   * @returns the connection, and the address when it was made without a proxy.
   * @throws {@link ConnectionError} nothing answers; {@link TimeoutError} not in time.
   */
  async connect(destination: Destination, permit: Permit, { egressProxy }: DialRules, traffic: Traffic): Promise<Connected> {
    if (egressProxy !== undefined) return { socket: await this.#throughEgressProxy(destination, egressProxy), address: undefined };
    const proxy = this.findHostProxy(destination, traffic);
    if (proxy !== undefined) return { socket: await throughHostProxy(proxy, destination, traffic), address: undefined };
    let failure: unknown;
    for (const address of permit.addresses.slice(0, MAX_TRIES)) {
      try {
        return { socket: await openTcp(address, destination.port), address };
      } catch (error) {
        failure ??= error;
      }
    }
    throw failure;
  }

  /** The proxy that this machine needs for a destination. */
  findHostProxy(destination: Destination, traffic: Traffic): HostProxy | undefined {
    return this.#parts.hostProxies.find(destination, traffic);
  }

  async #addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host) !== 0) return [host];
    try {
      return await within(RESOLVE_TIMEOUT_MS, (this.#parts.resolve ?? resolveName)(host));
    } catch {
      return [];
    }
  }

  async #throughEgressProxy(destination: Destination, { address, username, password }: EgressProxyConfig): Promise<Socket> {
    const at = address.lastIndexOf(":");
    const socket = await openTcp(address.slice(0, at).replace(/^\[|\]$/g, ""), Number(address.slice(at + 1)));
    return handshake(socket, () =>
      connectThroughSocks(socket, destination, username === undefined ? undefined : { username, password: password ?? "" }),
    );
  }
}

/** An open connection. */
export interface Connected {
  readonly socket: Socket;
  /** Undefined behind a proxy. */
  readonly address: string | undefined;
}

async function resolveName(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function openTcp(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    const timer = setTimeout(() => {
      reject(new TimeoutError(`${host}:${port} did not answer within ${CONNECT_TIMEOUT_MS} ms`, { timeout: "request" }));
      socket.destroy();
    }, CONNECT_TIMEOUT_MS);
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on("error", (cause: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(new ConnectionError(`cannot connect to ${host}:${port}: ${cause.code ?? cause.message}`, { cause }));
    });
  });
}

async function throughHostProxy({ url }: HostProxy, destination: Destination, traffic: Traffic): Promise<Socket> {
  const port = Number(url.port || (url.protocol === "https:" ? 443 : url.protocol === "http:" ? 80 : 1080));
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol.startsWith("socks")) {
    const socket = await openTcp(host, port);
    const credentials = { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
    return handshake(socket, () => connectThroughSocks(socket, destination, credentials.username === "" ? undefined : credentials));
  }
  // Plain HTTP goes to the proxy as it is; its requests name the destination themselves.
  return traffic === "http" && url.protocol === "http:" ? openTcp(host, port) : openHttpTunnel(url, host, port, destination);
}

function openHttpTunnel(url: URL, host: string, port: number, destination: Destination): Promise<Socket> {
  const authority = `${isIP(destination.host) === 6 ? `[${destination.host}]` : destination.host}:${destination.port}`;
  const authorization = toBasicCredentials(url);
  const headers = { host: authority, ...(authorization === undefined ? {} : { "proxy-authorization": authorization }) };
  return new Promise((resolve, reject) => {
    const open = url.protocol === "https:" ? httpsRequest : httpRequest;
    const outgoing = open({ method: "CONNECT", host, port, path: authority, headers, agent: false, timeout: CONNECT_TIMEOUT_MS });
    outgoing.once("connect", (answer, socket, head) => {
      if (answer.statusCode !== 200) {
        socket.destroy();
        reject(new ConnectionError(`the proxy of this machine answered ${answer.statusCode} for ${authority}`));
        return;
      }
      socket.setTimeout(0);
      socket.allowHalfOpen = true;
      socket.on("error", () => socket.destroy());
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    outgoing.once("response", (answer) => {
      answer.destroy();
      reject(new ConnectionError(`the proxy of this machine answered ${answer.statusCode} for ${authority}`));
    });
    outgoing.once("timeout", () => outgoing.destroy(new Error("no answer in time")));
    outgoing.once("error", (cause) => reject(new ConnectionError(`the proxy of this machine failed: ${cause.message}`, { cause })));
    outgoing.end();
  });
}

async function handshake(socket: Socket, work: () => Promise<void>): Promise<Socket> {
  try {
    await within(CONNECT_TIMEOUT_MS, work());
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeoutError(`no answer within ${timeoutMs} ms`, { timeout: "request" })), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function toRefusal({ host, port }: Destination, reason: string): string {
  return `${host}:${port} is not allowed for this sandbox: ${reason}`;
}
