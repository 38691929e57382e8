/** What the caller asks of a sandbox's network; absent means the default of the contract. */
export interface NetworkConfig {
  /** Ports answer without a token. Fixed at creation. */
  readonly allowPublicTraffic?: boolean;
  /** Addresses, ranges, host names and `*.` names. An empty list allows nothing. */
  readonly allowOut?: readonly string[];
  /** Addresses and ranges. */
  readonly denyOut?: readonly string[];
  readonly egressProxy?: EgressProxyConfig | null;
  /** Host header for requests to ports inside; `${PORT}` stands for the port. */
  readonly maskRequestHost?: string;
  /** Ports inside that speak TLS themselves. */
  readonly httpsPorts?: readonly number[];
  /** By host name or `*.` name. */
  readonly rules?: Readonly<Record<string, readonly HeaderRule[]>>;
}

/** A SOCKS5 proxy behind which the traffic goes on. */
export interface EgressProxyConfig {
  /** `host:port`. */
  readonly address: string;
  readonly username?: string;
  readonly password?: string;
}

/** What happens to requests to one host. */
export interface HeaderRule {
  readonly transform?: {
    /** Replaces headers of these names; values may hold `${e2b.secrets.<name>}`. */
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** Everything that decides about outgoing traffic. */
export interface EgressConfig {
  /** What the caller asked for; `undefined` when nothing. */
  readonly allowInternetAccess: boolean | undefined;
  readonly network: NetworkConfig;
}
