import { Agent as HttpAgent } from "node:http";
import type { Socket } from "node:net";
import { ConnectionError, PermissionDeniedError, TimeoutError } from "../../errors/error-classes.js";
import { connectBy } from "../connect-by.js";
import type { AccessEntry, AccessLog } from "./access-log.js";
import type { CertificateAuthority } from "./certificate-authority.js";
import type { Connected, Dialer, DialRules, Permit } from "./dialer.js";
import { HeaderRules, type ReadSecret } from "./header-rules.js";
import type { Traffic } from "./host-proxy.js";
import { parseAddress } from "./ip-network.js";
import type { EgressConfig } from "./network-config.js";
import { type Destination, NetworkPolicy } from "./network-policy.js";

export interface EgressGatewayParts {
  readonly dialer: Dialer;
  readonly authority: CertificateAuthority;
  readonly readSecret: ReadSecret;
  readonly log: AccessLog;
}

/** The address and port of one connection that lasts. */
interface Flow {
  readonly destination: Destination;
  readonly address: string | undefined;
  /** The rule that allowed it. */
  readonly reason: string;
}

const MAX_IDLE_UPSTREAMS = 8;
const IDLE_UPSTREAM_MS = 15_000;

/** The way out of one sandbox: its rules, what is open under them, and what was tried. */
export class EgressGateway {
  readonly authority: CertificateAuthority;
  readonly readSecret: ReadSecret;
  readonly log: AccessLog;
  readonly #dialer: Dialer;
  readonly #flows = new Map<Socket, Flow>();
  #rules: DialRules;
  #headerRules: HeaderRules;
  #httpAgent: HttpAgent;

  constructor(config: EgressConfig, parts: EgressGatewayParts) {
    this.authority = parts.authority;
    this.readSecret = parts.readSecret;
    this.log = parts.log;
    this.#dialer = parts.dialer;
    this.#rules = toDialRules(config);
    this.#headerRules = new HeaderRules(config.network.rules);
    this.#httpAgent = this.#createAgent();
  }

  get headerRules(): HeaderRules {
    return this.#headerRules;
  }

  /** Connections for plain HTTP requests, kept alive between requests and made under the rules of the moment. */
  get httpAgent(): HttpAgent {
    return this.#httpAgent;
  }

  /** Put other rules in place; what they do not allow any more is cut. */
  update(config: EgressConfig): void {
    this.#rules = toDialRules(config);
    this.#headerRules = new HeaderRules(config.network.rules);
    this.#httpAgent.destroy();
    this.#httpAgent = this.#createAgent();
    for (const [socket, flow] of this.#flows) if (!this.#isStillAllowed(flow)) socket.destroy();
  }

  /** Check a destination. @throws as {@link Dialer.authorize}. */
  authorize(destination: Destination, traffic: Traffic): Promise<Permit> {
    return this.#dialer.authorize(destination, this.#rules, traffic);
  }

  /**
   * Check a destination and connect to it.
   *
   * @throws {@link PermissionDeniedError} the rules refuse; {@link ConnectionError} nothing answers; {@link TimeoutError} not in time.
   */
  async connect(destination: Destination, traffic: Traffic): Promise<Connected & { readonly reason: string }> {
    const permit = await this.authorize(destination, traffic);
    const connected = await this.#dialer.connect(destination, permit, this.#rules, traffic);
    const { socket, address } = connected;
    const flow = { destination, address, reason: permit.reason };
    // The rules may have changed meanwhile.
    if (!this.#isStillAllowed(flow)) {
      socket.destroy();
      throw new PermissionDeniedError(`${destination.host}:${destination.port} is not allowed any more for this sandbox`);
    }
    this.#flows.set(socket, flow);
    socket.once("close", () => this.#flows.delete(socket));
    return { ...connected, reason: permit.reason };
  }

  /** `host:port` of an HTTP proxy of this machine to which plain requests go with their whole URL. */
  findHttpProxy(destination: Destination): URL | undefined {
    if (this.#rules.egressProxy !== undefined) return undefined;
    const url = this.#dialer.findHostProxy(destination, "http")?.url;
    return url?.protocol === "http:" ? url : undefined;
  }

  /** Address and rule of a connection that lasts. */
  describe(socket: Socket): { readonly address?: string; readonly reason: string } {
    const { address, reason = "" } = this.#flows.get(socket) ?? {};
    return { reason, ...(address === undefined ? {} : { address }) };
  }

  /** Break everything. */
  close(): void {
    this.#httpAgent.destroy();
    for (const socket of this.#flows.keys()) socket.destroy();
  }

  #isStillAllowed({ destination, address }: Flow): boolean {
    const parsed = address === undefined ? undefined : parseAddress(address);
    const { policy } = this.#rules;
    // Own addresses were refused when the connection was made.
    return (parsed === undefined ? policy.decideUnresolved(destination) : policy.decide(destination, parsed, [])).isAllowed;
  }

  #createAgent(): HttpAgent {
    const agent = new HttpAgent({ keepAlive: true, maxFreeSockets: MAX_IDLE_UPSTREAMS, timeout: IDLE_UPSTREAM_MS });
    connectBy(agent, async ({ host, port }) => (await this.connect({ host: String(host), port: Number(port) }, "http")).socket);
    return agent;
  }
}

/** Note in an access entry why a connection was not made, and tell the HTTP status that says so. */
export function noteFailure(entry: AccessEntry, error: unknown): number {
  const isDenied = PermissionDeniedError.isInstance(error) && (error as { reason?: string }).reason === "permission_denied";
  entry.decision = isDenied ? "denied" : "failed";
  entry.reason = error instanceof Error ? error.message : "the connection failed";
  entry.durationMs = Date.now() - entry.at.getTime();
  if (isDenied) return 403;
  return error instanceof TimeoutError ? 504 : error instanceof ConnectionError ? 502 : 500;
}

function toDialRules(config: EgressConfig): DialRules {
  return { policy: new NetworkPolicy(config), egressProxy: config.network.egressProxy ?? undefined };
}
