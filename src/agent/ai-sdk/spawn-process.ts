import type { Experimental_SandboxProcess } from "ai";
import { ConnectionError, UnimplementedError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import type { CommandBytes, CommandHandle } from "../../sandbox/command-handle.js";
import type { CommandBytesStartOptions, Commands } from "../../sandbox/commands.js";
import { untilAborted } from "../../shared/until-aborted.js";
import { exitStatusOf } from "../exit-status.js";
import { describeMissingOutput } from "../missing-output.js";
import { hasEnded } from "../sandbox-life.js";
import { OutputPipe, type OutputPipeLimits } from "./output-pipe.js";

/** Bytes of input in one request. */
const INPUT_BYTES = 256 * 1024;

/** A process with the member that `stdin: true` gives it. */
export interface SpawnedProcess extends Experimental_SandboxProcess {
  readonly stdin?: WritableStream<Uint8Array>;
}

/**
 * Start a process whose output is read as two streams. An abort kills it, errors the streams and rejects `wait()`, all with its reason.
 *
 * @throws {@link UnimplementedError} input is wanted and the daemon cannot close it.
 */
export async function spawnProcess(
  commands: Commands,
  command: string,
  options: Pick<CommandBytesStartOptions, "cwd" | "envs" | "user" | "signal" | "timeoutMs" | "stdin">,
  limits: OutputPipeLimits,
): Promise<SpawnedProcess> {
  const { signal, stdin } = options;
  signal?.throwIfAborted();
  if (stdin && !commands.supportsStdinClose) throw new UnimplementedError("spawn: the daemon is too old for stdin; rebuild the template");
  const pipes = { stdout: new OutputPipe("stdout", limits), stderr: new OutputPipe("stderr", limits) };
  const fail = (error: unknown): void => {
    pipes.stdout.fail(error);
    pipes.stderr.fail(error);
  };
  const handle = await commands.start(command, {
    ...options,
    format: "bytes",
    maxOutputBytes: 0,
    onStdout: pipes.stdout.write,
    onStderr: pipes.stderr.write,
    onGap: ({ missingBytes }) => fail(toGapError(missingBytes)),
  });
  const exit = followToEnd(handle, signal, pipes, fail);
  // Nobody has to ask how it ended.
  exit.catch(() => undefined);
  return {
    pid: handle.pid,
    stdout: pipes.stdout.readable,
    stderr: pipes.stderr.readable,
    ...(stdin && { stdin: toInputStream(handle) }),
    wait: () => exit,
    async kill() {
      if (handle.exitCode !== undefined) return;
      pipes.stdout.openWide();
      pipes.stderr.openWide();
      await killIfThere(handle);
    },
  };
}

async function followToEnd(
  handle: CommandHandle<CommandBytes>,
  signal: AbortSignal | undefined,
  pipes: { readonly stdout: OutputPipe; readonly stderr: OutputPipe },
  fail: (error: unknown) => void,
): Promise<{ exitCode: number }> {
  try {
    const outcome = await untilAborted(handle.waitForOutcome(), signal);
    pipes.stdout.end();
    pipes.stderr.end();
    return { exitCode: exitStatusOf(outcome) };
  } catch (error) {
    fail(error);
    if (signal?.aborted) killIfThere(handle).catch(() => undefined);
    throw error;
  }
}

/** What is gone needs no killing, and that includes the sandbox. */
async function killIfThere(handle: CommandHandle<CommandBytes>): Promise<void> {
  try {
    await handle.kill();
  } catch (error) {
    if (!hasEnded(error)) throw error;
  }
}

function toInputStream(handle: CommandHandle<CommandBytes>): WritableStream<Uint8Array> {
  const close = async (): Promise<void> => {
    try {
      await handle.closeStdin();
    } catch (error) {
      // It ended before it read everything.
      if (!SandboxError.isInstance(error) || error.reason !== "process_not_found") throw error;
    }
  };
  return new WritableStream<Uint8Array>({
    async write(chunk) {
      for (let at = 0; at < chunk.length; at += INPUT_BYTES) {
        // A process may take its time to read.
        await handle.sendStdin(chunk.subarray(at, at + INPUT_BYTES), { requestTimeoutMs: 0 });
      }
    },
    close,
    abort: close,
  });
}

function toGapError(missingBytes: number | undefined): ConnectionError {
  return new ConnectionError(`spawn: ${describeMissingOutput({ missingBytes, outputMayBeIncomplete: true })}`, { isRetryable: false });
}
