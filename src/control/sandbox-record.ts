import type { InstanceLimits, InstanceMount } from "./drivers/driver.js";
import type { EgressConfig, NetworkConfig } from "./egress/network-config.js";
import type { SandboxState } from "./state-machine.js";
import type { TemplateStart } from "./templates/template-store.js";

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

/**
 * What became of the memory of a sandbox.
 *
 * `live`: its processes run since its start; `kept`: they stand still; `dropped`: the pause was asked to keep files only; `lost`: they ended
 * while the sandbox was paused or the machine restarted; `rebooted`: it was started anew from its files.
 */
export type MemoryState = "live" | "kept" | "dropped" | "lost" | "rebooted";

/** What happens to a sandbox at its end of life, and on requests afterwards. */
export interface LifecyclePolicy {
  readonly onTimeout: OnTimeout;
  /** Whether a pause at the end of life keeps the memory. */
  readonly keepsMemory: boolean;
  /** Whether a request wakes it. */
  readonly autoResume: boolean;
}

/** One sandbox as the store keeps it. */
export interface SandboxRecord {
  readonly id: string;
  readonly templateId: string;
  readonly buildId: string;
  readonly alias: string | undefined;
  readonly state: SandboxState;
  readonly startedAt: Date;
  /** When the life of the sandbox ends; for a paused one, when it was paused. */
  readonly endAt: Date;
  /** Life that create asked for. */
  readonly createdTimeoutMs: number;
  readonly policy: LifecyclePolicy;
  readonly memory: MemoryState;
  /** The run of the machine in which it was started last. */
  readonly bootId: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly envs: Readonly<Record<string, string>>;
  /** Variables, user, directory and programs that its template has; needed again at a start from its files. */
  readonly start: TemplateStart | undefined;
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
