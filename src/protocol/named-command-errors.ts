import { AuthenticationError } from "../errors/error-classes.js";
import { errorFromReason } from "../errors/error-from-reason.js";
import { CommandArgumentError, NamedCommandError, toUnknownCommand } from "../errors/named-command-errors.js";
import { isErrorReason } from "../errors/reason.js";
import type { SandboxError, SandboxErrorOptions } from "../errors/sandbox-error.js";
import { reasonOfHttpStatus } from "../errors/status-map.js";
import { type CommandArgument, isArgumentType } from "../shared/command-arguments.js";
import { toSandboxGoneError } from "../transport/wire-errors.js";
import { toNoServerError } from "./no-command-server.js";

/** What was being done when the command server, or what is before it, answered with an error. */
export interface ServerCall {
  readonly operation: string;
  readonly sandboxId: string;
  readonly port: number;
  /** Present when a command was called. */
  readonly commandName?: string | undefined;
  /** The daemon of the sandbox does not answer either. @defaultValue false */
  readonly isGone?: boolean | undefined;
}

const MAX_MESSAGE_LENGTH = 2_000;
const MAX_NAME_LENGTH = 128;
const MAX_ITEMS = 1_000;

/**
 * The error of an answer that is no success. Everything in it may come from the guest: lengths are bounded, kinds are checked, and nothing of
 * it makes the caller believe that the sandbox is gone.
 */
export function toServerError(status: number, text: string, call: ServerCall): SandboxError {
  const body = parseFields(text);
  const options: SandboxErrorOptions = { operation: call.operation, sandboxId: call.sandboxId, statusCode: status };
  if (call.isGone) return toSandboxGoneError({ ...call, peer: "daemon" });
  if (status === 502 && body.error === undefined && body.port !== undefined) return toNoServerError(call);
  const said = typeof body.error === "string" ? body.error : typeof body.message === "string" ? body.message : "";
  const message = `${call.operation} failed: ${said.slice(0, MAX_MESSAGE_LENGTH) || `the command server answered with status ${status}`}`;
  const { commandName } = call;
  if (status === 401) {
    return new AuthenticationError(`${message}; pass the token of the command server as serverToken`, options);
  }
  if (commandName !== undefined) {
    if (status === 404 && (Array.isArray(body.available) || /^unknown command/i.test(said))) {
      return toUnknownCommand(commandName, toNames(body.available, said), options);
    }
    if (status === 400 && typeof body.argument === "string") {
      const facts = { commandName, argument: body.argument.slice(0, MAX_NAME_LENGTH), expected: toArguments(body.args) };
      return new CommandArgumentError(message, { ...options, ...facts });
    }
    if (status >= 500 && typeof body.type === "string") {
      return new NamedCommandError(message, { ...options, commandName, errorType: body.type.slice(0, MAX_NAME_LENGTH) });
    }
  }
  const reason = isErrorReason(body.error_code) && body.error_code !== "sandbox_gone" ? body.error_code : reasonOfHttpStatus(status);
  return errorFromReason(reason === "sandbox_gone" ? "internal" : reason, message, options);
}

/** The arguments in an answer; what is malformed is left out. */
export function toArguments(value: unknown): readonly CommandArgument[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MAX_ITEMS).flatMap((entry: unknown) => {
    const { name, type, required, default: preset, description } = toFields(entry);
    if (typeof name !== "string" || !isArgumentType(type)) return [];
    const isValue = typeof preset === "string" || typeof preset === "number" || typeof preset === "boolean";
    return {
      name: name.slice(0, MAX_NAME_LENGTH),
      type,
      required: required === true,
      default: isValue ? preset : null,
      description: typeof description === "string" ? description.slice(0, MAX_MESSAGE_LENGTH) : "",
    };
  });
}

/** A JSON object as it stands; everything else has no fields. */
export function parseFields(text: string): Readonly<Record<string, unknown>> {
  try {
    return toFields(JSON.parse(text));
  } catch {
    return {};
  }
}

/** The fields of a JSON object; everything else has none. */
export function toFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** Servers that send no list of names have it in their message. */
function toNames(available: unknown, said: string): readonly string[] {
  const names = Array.isArray(available) ? available : (/available: (.*)$/s.exec(said)?.[1] ?? "").split(",").map((name) => name.trim());
  return names
    .slice(0, MAX_ITEMS)
    .filter((name): name is string => typeof name === "string" && name !== "" && name !== "none")
    .map((name) => name.slice(0, MAX_NAME_LENGTH));
}
