import { TimeoutError } from "../errors/error-classes.js";
import { type CallContext, optionsOf } from "./wire-errors.js";

/** The error for a stream whose own time is over. */
export function toStreamTimeout(context: Pick<CallContext, "operation" | "sandboxId">, timeoutMs: number): TimeoutError {
  const isCommand = context.operation.startsWith("commands.") || context.operation.startsWith("pty.");
  const what = isCommand ? "the command was ended" : "the stream was ended";
  return new TimeoutError(`${context.operation}: ${what} after timeoutMs (${timeoutMs} ms); raise it, or pass 0 for no limit`, {
    ...optionsOf(context),
    timeout: "command",
  });
}
