/** A snapshot: the files of a sandbox at one moment, usable as a template. */
export interface SnapshotInfo {
  /** Accepted as `template` of a creation. */
  readonly snapshotId: string;
  /** Empty when it has no name. */
  readonly names: readonly string[];
}

/** What a sandbox used at one moment; sizes in bytes. */
export interface SandboxMetrics {
  readonly timestamp: Date;
  /** Share of its CPUs since the sample before, 0 to 100. */
  readonly cpuUsedPct: number;
  readonly cpuCount: number;
  readonly memUsed: number;
  readonly memTotal: number;
  readonly memCache: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}

/** How serious a line of a log is. */
export type SandboxLogLevel = "debug" | "info" | "warn" | "error";

/** A line of the log of a sandbox. */
export interface SandboxLogEntry {
  readonly timestamp: Date;
  readonly level: SandboxLogLevel;
  readonly message: string;
  /** Facts of the line; `logger` is the part of the platform that speaks. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Which lines of a log. */
export interface SandboxLogQuery {
  /** Lines from this time on; up to it when `direction` is `backward`. */
  readonly cursor?: Date | undefined;
  /** At most this many, 0 to 1000. @defaultValue 1000 */
  readonly limit?: number | undefined;
  /** @defaultValue "forward", oldest first */
  readonly direction?: "forward" | "backward" | undefined;
  /** Only lines of at least this level. */
  readonly level?: SandboxLogLevel | undefined;
  /** Only lines whose message has this text in it. */
  readonly search?: string | undefined;
}

/** `killed`, `expired` and `died` are the last event of a sandbox. */
export type SandboxEventType = "created" | "paused" | "resumed" | "snapshotted" | "forked" | "oom" | "killed" | "expired" | "died";

/** Something that happened to a sandbox. */
export interface SandboxEvent {
  /** Grows with every event; give it as `after` to go on behind it. */
  readonly id: string;
  readonly sandboxId: string;
  readonly type: SandboxEventType;
  readonly timestamp: Date;
  /** The same in words. */
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}
