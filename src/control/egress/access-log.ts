import type { Destination } from "./network-policy.js";

/** How a connection or request came in. `https` is a request in a connection that was opened for header rules. */
export type AccessProtocol = "connect" | "http" | "https" | "socks5";

/** One connection or request that a sandbox tried. */
export interface AccessEntry {
  readonly at: Date;
  readonly protocol: AccessProtocol;
  readonly host: string;
  readonly port: number;
  readonly method?: string;
  /** The address that was connected to; absent before that and behind a proxy. */
  address?: string;
  /** `failed`: allowed, but nothing answered. `pending`: not decided yet. */
  decision: "pending" | "allowed" | "denied" | "failed";
  /** The rule that decided, or what went wrong. */
  reason: string;
  /** Status of an HTTP answer. */
  status?: number;
  bytesSent: number;
  bytesReceived: number;
  /** Milliseconds from the first byte to the end; absent while it lasts. */
  durationMs?: number;
}

/** Keeps the last connections of one sandbox. Values of headers, paths and queries are no part of it. */
export class AccessLog {
  readonly #capacity: number;
  readonly #entries: AccessEntry[] = [];

  constructor(capacity = 1000) {
    this.#capacity = capacity;
  }

  /** Add an entry; the caller fills in how it went. */
  begin(protocol: AccessProtocol, { host, port }: Destination, method?: string): AccessEntry {
    const entry: AccessEntry = {
      at: new Date(),
      protocol,
      host: host.slice(0, 253),
      port,
      ...(method === undefined ? {} : { method }),
      decision: "pending",
      reason: "",
      bytesSent: 0,
      bytesReceived: 0,
    };
    this.#entries.push(entry);
    if (this.#entries.length > this.#capacity) this.#entries.shift();
    return entry;
  }

  /** The newest `limit` entries, oldest first. */
  list(limit: number): readonly AccessEntry[] {
    return this.#entries.slice(-limit);
  }
}
