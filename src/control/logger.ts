import { SandboxError } from "../errors/sandbox-error.js";
import { messageOf } from "../shared/message-of.js";

/** Facts of one event; never headers, environment or bodies. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type LogLevel = "debug" | "info" | "warn" | "error";

/** `json` is an object per line, `text` is for people; both are one line per event. */
export type LogFormat = "json" | "text";

/** Writes structured events. */
export interface Logger {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface LoggerOptions {
  /** The least that is written. @defaultValue "info" */
  readonly level?: LogLevel | undefined;
  /** @defaultValue "json" */
  readonly format?: LogFormat | undefined;
}

const RANK: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };
export const LOG_LEVELS = Object.keys(RANK) as readonly LogLevel[]; // the keys are the levels
export const LOG_FORMATS: readonly LogFormat[] = ["json", "text"];

/** Values come from guests too: a long one is cut. */
const MAX_VALUE_LENGTH = 2_000;
/** What JSON leaves as it is and a terminal or a reader of lines may not. */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029]/g;
const PLAIN = /^[\w.:/@+-]+$/;

/** A logger that writes one line per event. */
export function createLogger(write: (line: string) => void, options: LoggerOptions = {}): Logger {
  const minimum = RANK[options.level ?? "info"];
  const toLine = options.format === "text" ? toText : toJson;
  const log = (level: LogLevel) => (event: string, fields?: LogFields) => {
    if (RANK[level] >= minimum) write(`${toLine(new Date().toISOString(), level, event, fields)}\n`);
  };
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

/**
 * Facts of a failure that its caller is told in full. That message may repeat a command, its output or a path, so the log has the reason; what is
 * a fault of the platform itself has its message here and nowhere else.
 */
export function failureOf(thrown: unknown): LogFields {
  const isTold = SandboxError.isInstance(thrown) && thrown.reason !== "internal";
  return isTold ? { reason: thrown.reason } : { message: messageOf(thrown) };
}

function toJson(time: string, level: LogLevel, event: string, fields?: LogFields): string {
  return escapeControls(JSON.stringify({ time, level, event, ...fields }, cut));
}

function toText(time: string, level: LogLevel, event: string, fields: LogFields = {}): string {
  const facts = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : ` ${name}=${toWord(value)}`));
  return `${time} ${level.toUpperCase().padEnd(5)} ${event}${facts.join("")}`;
}

function toWord(value: string | number | boolean | null): string {
  const text = String(value);
  return PLAIN.test(text) && text.length <= MAX_VALUE_LENGTH ? text : escapeControls(JSON.stringify(cut("", text)));
}

function cut(_name: string, value: unknown): unknown {
  return typeof value === "string" && value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)}…` : value;
}

function escapeControls(json: string): string {
  return json.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
