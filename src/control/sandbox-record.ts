import type { InstanceLimits } from "./drivers/driver.js";
import type { SandboxState } from "./state-machine.js";

/** What happens at `endAt`. */
export type OnTimeout = "kill" | "pause";

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
  readonly limits: InstanceLimits;
  readonly diskSizeMb: number;
  readonly envdVersion: string;
}
