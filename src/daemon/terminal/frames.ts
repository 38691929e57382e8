import type { components } from "../../../gen/openapi/terminals.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";
import { describeExit } from "../process/exit-status.js";
import { assertTerminalSize } from "../process/launch-terminal.js";
import type { ManagedProcess } from "../process/managed-process.js";

type Schemas = components["schemas"];

/** A program to start on a new terminal. */
export type TerminalStart = Schemas["TerminalStart"];
export type ServerFrame = Schemas["ServerFrame"];
export type ClientFrame = Schemas["ClientFrame"];

/**
 * Understand a text frame of a client.
 *
 * Sizes are only checked to be numbers: a wrong one is an answer to its request, not the end of the connection.
 *
 * @throws {@link InvalidArgumentError} it is no frame of the contract.
 */
export function parseClientFrame(text: string): ClientFrame {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InvalidArgumentError("a text frame is not JSON", { cause });
  }
  const frame = asObject(value, "a text frame");
  switch (frame.type) {
    case "start":
      return { type: "start", ...parseTerminalStart(frame) };
    case "resize":
      return { type: "resize", cols: numberIn(frame, "cols"), rows: numberIn(frame, "rows") };
    case "ack":
    case "input_at":
      return { type: frame.type, offset: numberIn(frame, "offset") };
    case "kill":
    case "ping":
      return { type: frame.type };
    default:
      throw new InvalidArgumentError(`text frames of type ${JSON.stringify(frame.type)?.slice(0, 100)} are not known`);
  }
}

/**
 * @throws {@link InvalidArgumentError} a field is missing, malformed or out of range.
 */
export function parseTerminalStart(value: unknown): TerminalStart {
  const start = asObject(value, "start");
  const size = { cols: numberIn(start, "cols"), rows: numberIn(start, "rows") };
  assertTerminalSize(size);
  const [cmd, cwd, user, tag, startId] = ["cmd", "cwd", "user", "tag", "start_id"].map((name) => optionalString(start, name));
  const timeoutMs = optionalInteger(start, "timeout_ms", 1, Number.MAX_SAFE_INTEGER);
  const args = start.args ?? undefined;
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === "string"))) {
    throw new InvalidArgumentError("args must be a list of strings");
  }
  const envs = start.envs ?? undefined;
  if (envs !== undefined && Object.values(asObject(envs, "envs")).some((text) => typeof text !== "string")) {
    throw new InvalidArgumentError("envs must be an object of strings");
  }
  return {
    ...size,
    ...(cmd !== undefined && { cmd }),
    ...(args !== undefined && { args: args as string[] }), // every element was looked at
    ...(envs !== undefined && { envs: envs as Record<string, string> }), // every value was looked at
    ...(cwd !== undefined && { cwd }),
    ...(user !== undefined && { user }),
    ...(tag !== undefined && { tag }),
    ...(startId !== undefined && { start_id: startId }),
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
  };
}

/** The frame for a failure that ends a connection, or for one that ends a request only. */
export function toErrorFrame(error: unknown): Schemas["ErrorFrame"];
export function toErrorFrame(error: unknown, request: Schemas["RefusedFrame"]["request"]): Schemas["RefusedFrame"];
export function toErrorFrame(
  error: unknown,
  request?: Schemas["RefusedFrame"]["request"],
): Schemas["ErrorFrame"] | Schemas["RefusedFrame"] {
  const reason = SandboxError.isInstance(error) ? error.reason : "internal";
  const facts = {
    code: STATUS_OF_REASON[reason].http,
    message: error instanceof Error ? error.message : "the daemon failed for an unknown reason",
    error_code: reason,
  };
  return request === undefined ? { type: "error", ...facts } : { type: "refused", request, ...facts };
}

/** How a terminal ended, once it did. */
export function toExitFrame(process: ManagedProcess): Schemas["ExitFrame"] | undefined {
  const { exit } = process;
  if (exit === undefined) return undefined;
  const status = describeExit(exit);
  if (exit.kind === "exited") return { type: "exit", outcome: process.isTimedOut ? "timed_out" : "exited", exit_code: exit.code, status };
  const signal = typeof exit.signal === "number" ? `SIG${exit.signal}` : exit.signal;
  return { type: "exit", outcome: process.isTimedOut ? "timed_out" : "signaled", signal, status };
}

/** Narrow a value of JSON to an object. */
export function asObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new InvalidArgumentError(`${what} must be a JSON object`);
  return value as Record<string, unknown>; // any object is such a record
}

export function optionalString(object: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = object[name] ?? undefined;
  if (value !== undefined && typeof value !== "string") throw new InvalidArgumentError(`${name} must be a string`);
  return value;
}

export function optionalInteger(object: Readonly<Record<string, unknown>>, name: string, least: number, most: number): number | undefined {
  const value = object[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw new InvalidArgumentError(`${name} must be a whole number between ${least} and ${most}`);
  }
  return value;
}

function numberIn(object: Readonly<Record<string, unknown>>, name: string): number {
  const value = object[name];
  if (typeof value !== "number") throw new InvalidArgumentError(`${name} must be a number`);
  return value;
}
