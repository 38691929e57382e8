import type { SandboxLink } from "../sandbox-link.js";
import { type AccessEntry, AccessLog } from "./access-log.js";
import { CertificateAuthority } from "./certificate-authority.js";
import { ChannelPool } from "./channel-pool.js";
import { Dialer, type DialerParts } from "./dialer.js";
import { EgressGateway } from "./egress-gateway.js";
import { HeaderRules, type ReadSecret } from "./header-rules.js";
import { HttpFront } from "./http-front.js";
import { EGRESS_TIMEOUTS, type EgressTimeouts } from "./http-limits.js";
import { InterceptionServer } from "./interception.js";
import type { EgressConfig } from "./network-config.js";
import { NetworkPolicy } from "./network-policy.js";
import { SOCKS_FIRST_BYTE, serveSocks } from "./socks-front.js";

export interface EgressServiceParts extends DialerParts {
  /** From which the keys of the sandboxes' certificate authorities follow. */
  readonly platformSecret: Buffer;
  readonly readSecret: ReadSecret;
  /** PEM certificates of authorities that this machine trusts beside the usual ones. */
  readonly extraAuthorities: readonly string[];
  /** PEM certificates of all authorities for hosts outside; `undefined`: Node's own. */
  readonly trustedAuthorities?: readonly string[];
  readonly timeouts?: EgressTimeouts;
}

/** What the daemon of a sandbox has to know about its way out; `undefined` when there is none. */
export interface EgressSetup {
  /** PEM certificates that programs inside trust beside those of the template; may be empty. */
  readonly trustedCertificates: string;
}

interface Open {
  readonly link: SandboxLink;
  readonly log: AccessLog;
  gateway?: EgressGateway;
  pool?: ChannelPool;
}

/** The ways out of all sandboxes. A sandbox whose rules allow nothing has none. */
export class EgressService {
  readonly #parts: EgressServiceParts;
  readonly #dialer: Dialer;
  readonly #interception: InterceptionServer;
  readonly #front: HttpFront;
  readonly #open = new Map<string, Open>();
  readonly #timeouts: EgressTimeouts;

  constructor(parts: EgressServiceParts) {
    this.#parts = parts;
    this.#dialer = new Dialer(parts);
    this.#timeouts = parts.timeouts ?? EGRESS_TIMEOUTS;
    this.#interception = new InterceptionServer(this.#timeouts, parts.trustedAuthorities);
    this.#front = new HttpFront(this.#interception, this.#timeouts);
  }

  /** What the daemon has to be told at its start and after every change. */
  setupFor(sandboxId: string, config: EgressConfig): EgressSetup | undefined {
    if (new NetworkPolicy(config).isClosed) return undefined;
    const own = new HeaderRules(config.network.rules).areThere ? [this.#authorityOf(sandboxId).certificatePem] : [];
    return { trustedCertificates: [...this.#parts.extraAuthorities, ...own].join("") };
  }

  /** Open the way out of a running sandbox; it closes with the link. */
  open(link: SandboxLink, config: EgressConfig): void {
    const open: Open = { link, log: new AccessLog() };
    this.#open.set(link.sandboxId, open);
    link.onSever(() => {
      this.#close(open);
      if (this.#open.get(link.sandboxId) === open) this.#open.delete(link.sandboxId);
    });
    this.#apply(open, config);
  }

  /** Put other rules in place for a running sandbox. */
  update(sandboxId: string, config: EgressConfig): void {
    const open = this.#open.get(sandboxId);
    if (open !== undefined) this.#apply(open, config);
  }

  /** The newest `limit` connections that a running sandbox tried, oldest first. */
  accessLog(sandboxId: string, limit: number): readonly AccessEntry[] {
    return this.#open.get(sandboxId)?.log.list(limit) ?? [];
  }

  #apply(open: Open, config: EgressConfig): void {
    if (new NetworkPolicy(config).isClosed) {
      this.#close(open);
      return;
    }
    if (open.gateway !== undefined) {
      open.gateway.update(config);
      return;
    }
    const { link, log } = open;
    const gateway = new EgressGateway(config, {
      dialer: this.#dialer,
      authority: this.#authorityOf(link.sandboxId),
      readSecret: this.#parts.readSecret,
      log,
    });
    open.gateway = gateway;
    open.pool = new ChannelPool({
      open: () => link.openEgressChannel(),
      onActive: (channel, firstByte) => {
        if (firstByte === SOCKS_FIRST_BYTE) void serveSocks(channel, gateway, this.#interception, this.#timeouts);
        else this.#front.serve(channel, gateway);
      },
    });
  }

  #close(open: Open): void {
    open.pool?.close();
    open.gateway?.close();
    delete open.pool;
    delete open.gateway;
  }

  #authorityOf(sandboxId: string): CertificateAuthority {
    return new CertificateAuthority(this.#parts.platformSecret, sandboxId);
  }
}
