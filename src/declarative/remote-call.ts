import { InvalidArgumentError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { SerializationError } from "../errors/serialization-error.js";
import type { CommandResult } from "../sandbox/command-handle.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { type CallFrame, decodeFrame } from "./call-frame.js";
import type { CallSettings, RemoteCallOptions } from "./remote-options.js";
import type { RemoteProgram } from "./remote-program.js";

/** Output that is kept for the message of a call which failed. */
const KEPT_OUTPUT_BYTES = 16 * 1024;

/** One call of a program in a sandbox that holds it already. */
export interface RemoteCall {
  /** What is called, in messages. */
  readonly name: string;
  readonly program: RemoteProgram;
  /** The arguments in their encoded form. */
  readonly encoded: string;
}

/**
 * Make the call in a process of its own.
 *
 * @throws whatever the function threw; {@link SerializationError} what it returned is no data; {@link TimeoutError} it took longer than
 * `timeoutMs`; {@link InvalidArgumentError} its result is too large; {@link SandboxError} (`command_exit`) its process ended before it
 * returned; the reason of `signal`.
 */
export async function callInSandbox(sandbox: Sandbox, call: RemoteCall, settings: CallSettings & RemoteCallOptions): Promise<unknown> {
  const { name, program } = call;
  const { signal, timeoutMs, envs, onStdout, onStderr, maxResultBytes } = settings;
  const callPath = `${program.directory}/${crypto.randomUUID()}`;
  const argumentsPath = `${callPath}.arguments`;
  const resultPath = `${callPath}.result`;
  await sandbox.files.write(argumentsPath, call.encoded, { signal });
  const command = program.toCommand({ functionName: name, argumentsPath, resultPath });
  const output = { onStdout, onStderr, maxOutputBytes: KEPT_OUTPUT_BYTES };
  const outcome = await sandbox.commands.run(command, { ...output, signal, timeoutMs, envs, reject: false });
  const result = await readResult(sandbox, resultPath, maxResultBytes, signal);
  if (result === undefined) throw toEndedError(name, outcome, sandbox.sandboxId);
  // Only a sandbox that lives on minds, and the result is here already.
  await sandbox.files.remove(resultPath).catch(() => undefined);
  if (result.length > maxResultBytes) {
    throw new InvalidArgumentError(
      `the result of ${name} has more than ${maxResultBytes} bytes; write it to a file, or raise maxResultBytes`,
      {
        operation: "remote",
        sandboxId: sandbox.sandboxId,
      },
    );
  }
  return unwrap(decodeFrame(new TextDecoder().decode(result), name), name);
}

/** One byte more than is allowed at most, whatever the guest left there; `undefined` where it left nothing. */
async function readResult(sandbox: Sandbox, path: string, maxBytes: number, signal: AbortSignal | undefined) {
  try {
    return await sandbox.files.read(path, { format: "bytes", range: { start: 0, end: maxBytes + 1 }, signal });
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "file_not_found") return undefined;
    throw error;
  }
}

function unwrap(frame: CallFrame, name: string): unknown {
  switch (frame.type) {
    case "returned":
      return frame.value;
    case "threw":
      throw frame.error;
    case "unencodable":
      throw new SerializationError(`${name}: ${frame.path}`, frame.found, { operation: "remote" });
  }
}

function toEndedError(name: string, outcome: CommandResult, sandboxId: string): SandboxError {
  const { exitCode, signal, isOutOfMemory, stderr } = outcome;
  const end = signal === undefined ? `with exit code ${exitCode}` : `by ${signal}`;
  const why = isOutOfMemory ? " because the sandbox ran out of memory" : "";
  const tail = stderr.trim().slice(-1_000);
  return new SandboxError("command_exit", `the process of ${name} ended ${end}${why} before it returned${tail === "" ? "" : `: ${tail}`}`, {
    operation: "remote",
    sandboxId,
  });
}
