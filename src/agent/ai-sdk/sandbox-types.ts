import type { Network } from "../../sandbox/network.js";
import type { SandboxListOptions } from "../../sandbox/sandbox.js";

/** Rules for outgoing traffic. */
export type NetworkUpdate = Parameters<Network["update"]>[0];

/** A SOCKS5 proxy behind the rules. */
export type EgressProxy = NonNullable<NetworkUpdate["egressProxy"]>;

/** Which platform is asked, and how. */
export type ConnectionOptions = Omit<SandboxListOptions, "query" | "order" | "limit" | "nextToken">;
