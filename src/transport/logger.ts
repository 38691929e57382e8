/** Receives facts about requests. `console` fits. */
export interface Logger {
  /** Every request and its answer. */
  debug?(message: string, facts?: LogFacts): void;
  /** What is worth knowing and no fault. */
  info?(message: string, facts?: LogFacts): void;
  /** What went wrong and was repaired, such as a repeated request. */
  warn?(message: string, facts?: LogFacts): void;
  /** What went wrong for good. */
  error?(message: string, facts?: LogFacts): void;
}

/** Facts beside a log line. Headers, environment variables, bodies and query strings never stand here. */
export type LogFacts = Readonly<Record<string, string | number | boolean | undefined>>;

type Level = "debug" | "info" | "warn" | "error";

/** The logger as the client uses it: every level exists and none throws, so a broken logger cannot fail a call. */
export type SafeLogger = Readonly<Record<Level, (message: string, facts?: LogFacts) => void>>;

/** Wrap a user's logger; without one, every level does nothing. */
export function toSafeLogger(logger: Logger | undefined): SafeLogger {
  const level = (name: Level) => (message: string, facts?: LogFacts) => {
    if (logger === undefined) return;
    try {
      const answer: unknown = logger[name]?.(message, facts);
      if (answer instanceof Promise) answer.catch(() => {});
    } catch {
      // A logger that throws is the user's; the call it reports on goes on.
    }
  };
  return { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error") };
}
