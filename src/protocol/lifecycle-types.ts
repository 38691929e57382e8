import type { HostMount, IsolationLevel } from "./isolation-types.js";
import type { SandboxNetwork } from "./network-client.js";

/** `running` answers requests; `paused` is kept aside. */
export type SandboxState = "running" | "paused";

/** A volume in the file system of a sandbox. */
export interface VolumeMountInfo {
  readonly name: string;
  readonly path: string;
}

/** What is known about a sandbox. */
export interface SandboxInfo {
  readonly sandboxId: string;
  readonly templateId: string;
  /** Alias of the template, when it has one. */
  readonly name?: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly startedAt: Date;
  /** When its life ends unless it is prolonged; for a paused one, when it was paused. */
  readonly endAt: Date;
  readonly state: SandboxState;
  readonly cpuCount: number;
  /** MiB. */
  readonly memoryMB: number;
  /** Version of the daemon's wire. */
  readonly envdVersion: string;
  readonly volumeMounts: readonly VolumeMountInfo[];
  /** What was asked for at creation; absent in lists and where nothing was asked for. */
  readonly allowInternetAccess?: boolean;
  /** Domain of its hosts, when it is not that of the client's configuration. */
  readonly sandboxDomain?: string;
  readonly lifecycle?: SandboxLifecycleInfo;
  /**
   * What became of its memory: `live` since its creation, `kept` while it is paused, `dropped` by a pause without it, `lost` while it was
   * paused (the machine restarted), or `rebooted` from its files. Our platform only; absent in lists.
   */
  readonly memoryState?: "live" | "kept" | "dropped" | "lost" | "rebooted";
  /** Rules for its traffic; absent in lists. */
  readonly network?: SandboxNetwork;
}

/** What happens at the end of life. */
export interface SandboxLifecycleInfo {
  readonly onTimeout: "kill" | "pause";
  readonly autoResume: boolean;
}

/** What a new sandbox does at its end of life. */
export interface SandboxPolicy {
  readonly onTimeout: "kill" | "pause";
  readonly keepMemory: boolean | undefined;
  readonly autoResume: boolean | undefined;
}

/** Which sandboxes to list. */
export interface SandboxQuery {
  /** Pairs that the metadata must all have. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** @defaultValue all states */
  readonly state?: readonly SandboxState[] | undefined;
  /** Only those that started at this time or later. */
  readonly startedAfter?: Date | undefined;
  /** Only those of this template, by id or alias. */
  readonly template?: string | undefined;
}

/** What a sandbox is made from. */
export interface NewSandboxSpec {
  readonly template: string;
  readonly timeoutMs: number | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly envs: Readonly<Record<string, string>> | undefined;
  readonly allowInternetAccess: boolean | undefined;
  readonly volumeMounts: readonly VolumeMountInfo[] | undefined;
  readonly mounts: readonly HostMount[] | undefined;
  readonly minimumIsolation: IsolationLevel | undefined;
  readonly network: SandboxNetwork | undefined;
  readonly policy: SandboxPolicy | undefined;
}

/** How a sandbox is joined. */
export interface ConnectSpec {
  readonly timeoutMs: number | undefined;
  /** False starts a paused sandbox anew from its files. */
  readonly wantsMemory: boolean | undefined;
}

/** Everything a client needs to talk to a sandbox. */
export interface SandboxAccess {
  readonly sandboxId: string;
  readonly templateId: string;
  readonly envdVersion: string;
  readonly accessToken: string | undefined;
  readonly trafficAccessToken: string | undefined;
  readonly domain: string | undefined;
  /** The daemon takes binary messages. */
  readonly isBinary: boolean;
  /** Services of our own that the daemon has beside those of the shared wire, for example `process.v1`. */
  readonly services: readonly string[];
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Token of the next page; absent after the last. */
  readonly nextToken: string | undefined;
}
