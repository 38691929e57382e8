/** `building` includes waiting for a free place. */
export type BuildState = "waiting" | "building" | "ready" | "error";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A build that was asked for, as the store keeps it. */
export interface BuildRecord {
  readonly buildId: string;
  readonly templateId: string;
  /** Name that the template gets when the build is ready; `undefined` when it was asked for by id. */
  readonly name: string | undefined;
  readonly tags: readonly string[];
  readonly state: BuildState;
  readonly cpuCount: number;
  readonly memoryMb: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | undefined;
  /** Why it failed. */
  readonly reason: { readonly message: string; readonly step: string | undefined } | undefined;
}

/** One line of the log of a build. */
export interface BuildLogEntry {
  readonly timestamp: Date;
  readonly level: LogLevel;
  readonly message: string;
  /** `base`, the number of the step from 1, or `finalize`. */
  readonly step: string | undefined;
}
