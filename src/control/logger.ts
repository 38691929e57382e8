/** Facts of one event; never headers, environment or bodies. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type LogLevel = "debug" | "info" | "warn" | "error";

/** Writes structured events. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

/** A logger that writes one JSON object per line. */
export function createJsonLogger(write: (line: string) => void, minimum: LogLevel = "info"): Logger {
  const log = (level: LogLevel) => (event: string, fields?: LogFields) => {
    if (RANK[level] < RANK[minimum]) return;
    write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
  };
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

/** The text of anything thrown, for a log line or for the message of an error that wraps it. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
