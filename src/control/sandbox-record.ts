import type { InstanceLimits, InstanceMount } from "./drivers/driver.js";
import type { EgressConfig, NetworkConfig } from "./egress/network-config.js";
import type { SandboxState } from "./state-machine.js";

/** What happens at `endAt`. */
export type OnTimeout = "kill" | "pause";

/** What is mounted into a sandbox beside its template. */
export interface SandboxMount extends InstanceMount {
  /** Absent for a directory of the host. */
  readonly volume?: { readonly id: string; readonly name: string };
}

/** What decides about the outgoing traffic of a sandbox. */
export function toEgressConfig({ allowInternetAccess, network }: SandboxRecord): EgressConfig {
  return { allowInternetAccess, network };
}

/** One sandbox as the store keeps it. */
export interface SandboxRecord {
  readonly id: string;
  readonly templateId: string;
  readonly buildId: string;
  readonly alias: string | undefined;
  readonly state: SandboxState;
  readonly startedAt: Date;
  /** When the life of the sandbox ends. */
  readonly endAt: Date;
  /** Life that create asked for. */
  readonly createdTimeoutMs: number;
  readonly onTimeout: OnTimeout;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envs: Readonly<Record<string, string>>;
  /** Token of the daemon; absent when the sandbox is not secured. */
  readonly accessToken: string | undefined;
  /** What the caller asked for; `undefined` when nothing. */
  readonly allowInternetAccess: boolean | undefined;
  readonly network: NetworkConfig;
  /** Token for ports that are not public; `undefined` when all are. */
  readonly trafficAccessToken: string | undefined;
  readonly limits: InstanceLimits;
  readonly mounts: readonly SandboxMount[];
  readonly diskSizeMb: number;
  readonly envdVersion: string;
}
