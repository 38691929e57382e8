import type { TemplateBuildLog } from "../../protocol/template-client.js";

/** How serious a line of a build's log is. */
export type LogLevel = TemplateBuildLog["level"];

/** One line of the log of a build. */
export class LogEntry {
  readonly timestamp: Date;
  readonly level: LogLevel;
  readonly message: string;

  constructor(timestamp: Date, level: LogLevel, message: string) {
    this.timestamp = timestamp;
    this.level = level;
    this.message = message;
  }

  /** The line with its time and level, as `[2026-01-02T03:04:05.678Z] [info] text`. */
  toString(): string {
    return `[${this.timestamp.toISOString()}] [${this.level}] ${this.message}`;
  }
}

/** The first line: the build begins. */
export class LogEntryStart extends LogEntry {
  constructor(timestamp: Date, message: string) {
    super(timestamp, "debug", message);
  }
}

/** The last line: the build has ended. */
export class LogEntryEnd extends LogEntry {
  constructor(timestamp: Date, message: string) {
    super(timestamp, "debug", message);
  }
}

/** Gets the lines of a build in their order. */
export type BuildLogger = (entry: LogEntry) => void;

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

/** Writes the lines of at least a level to the console, with the seconds since the start before each. */
export function defaultBuildLogger(options: { readonly minLevel?: LogLevel } = {}): BuildLogger {
  const minimum = LEVELS.indexOf(options.minLevel ?? "info");
  let startedAtMs: number | undefined;
  return (entry) => {
    startedAtMs ??= entry.timestamp.getTime();
    if (LEVELS.indexOf(entry.level) < minimum) return;
    const seconds = ((entry.timestamp.getTime() - startedAtMs) / 1000).toFixed(1);
    // The logger is asked for by name, and a console is what it is for.
    console.log(`${seconds.padStart(6)}s ${entry.level.toUpperCase().padEnd(5)} ${entry.message}`);
  };
}

/** Frame a build with its first and last log line, whatever happens between. */
export async function withBuildFrame<T>(onBuildLogs: BuildLogger | undefined, work: () => Promise<T>): Promise<T> {
  onBuildLogs?.(new LogEntryStart(new Date(), "Build started"));
  try {
    return await work();
  } finally {
    onBuildLogs?.(new LogEntryEnd(new Date(), "Build finished"));
  }
}
