import {
  type PauseOptions,
  type SandboxConnectOptions,
  type SandboxCreateOptions,
  type SandboxForkOptions,
  type SandboxLifecycleOptions,
  type SandboxListOptions,
  type SnapshotListOptions,
  type SnapshotOptions,
  UnimplementedError,
  type WakeOptions,
} from "../../index.js";
import type { ConnectionOpts } from "./connection.js";
import { type SandboxNetworkOpts, toNetwork } from "./network-options.js";

/** Servers of the MCP gateway by name, with the settings of each. */
export type McpServer = Readonly<Record<string, unknown>>;

/** Name of an MCP server. */
export type McpServerName = keyof McpServer;

/** Kind of a workload token. */
export type SandboxIamTokenType = string;
/** What happens at the end of its life. */
export type SandboxOnTimeout = NonNullable<SandboxLifecycleOptions["onTimeout"]>;
/** Order of a list by the time of creation. */
export type SandboxListOrder = NonNullable<SandboxListOptions["order"]>;
/** User inside the sandbox. */
export type Username = string;
/** What callbacks of commands and terminals get. */
export type Stdout = string;
/** A piece of standard error. */
export type Stderr = string;
/** A piece of a terminal's output. */
export type PtyOutput = Uint8Array;

/** A workload token. */
export interface SandboxIamToken {
  readonly audience: string;
  readonly tokenType: SandboxIamTokenType;
}

/** Workload tokens of a sandbox, by name. */
export interface SandboxIamOpts {
  readonly tokens?: Readonly<Record<string, SandboxIamToken>> | undefined;
}

/** How a sandbox is made. */
export interface SandboxOpts extends ConnectionOpts, Omit<SandboxCreateOptions, "network" | "lifecycle"> {
  readonly network?: SandboxNetworkOpts | undefined;
  readonly lifecycle?: SandboxLifecycleOptions | undefined;
  /** Ignored: sandboxes are always secured. */
  readonly secure?: boolean | undefined;
  /** Start the MCP gateway of the template with these servers. @defaultValue no gateway */
  readonly mcp?: McpServer | undefined;
  /** Workload tokens. An empty set is all that is possible. */
  readonly iam?: SandboxIamOpts | undefined;
}

export interface SandboxConnectOpts extends ConnectionOpts, WakeOptions {}
export interface SandboxForkOpts extends ConnectionOpts, SandboxForkOptions {}
export interface SandboxListOpts extends ConnectionOpts, Omit<SandboxListOptions, keyof SandboxConnectOptions> {}
export interface SandboxPauseOpts extends ConnectionOpts, PauseOptions {}
export interface CreateSnapshotOpts extends ConnectionOpts, SnapshotOptions {}
export interface SnapshotListOpts extends ConnectionOpts, SnapshotListOptions {}
export interface SandboxMetricsOpts extends ConnectionOpts {
  readonly start?: Date | undefined;
  readonly end?: Date | undefined;
}

/** @throws {@link UnimplementedError} workload tokens are asked for. */
export function toCreateOptions({ network, secure: _, mcp: __, iam, ...options }: SandboxOpts): SandboxCreateOptions {
  if (Object.keys(iam?.tokens ?? {}).length > 0) {
    throw new UnimplementedError("iam: no server that this package knows issues workload tokens; leave the option out");
  }
  return { ...options, ...(network !== undefined && { network: toNetwork(network) }) };
}
