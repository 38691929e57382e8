import { FailedPreconditionError, InternalError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { createIgnoreRules } from "../shared/ignore-rules.js";
import { filterTar } from "../shared/tar-filter.js";
import type { ArchiveCallOptions, ArchiveClient } from "./archive-client.js";
import { DAEMON_FEATURES, isVersionAtLeast } from "./daemon-version.js";
import type { FilesystemClient } from "./filesystem-client.js";
import type { ProcessClient } from "./process-client.js";
import type { ProcessStream } from "./process-events.js";

/** Bytes per message to standard input: large enough for few round trips, far below what servers accept in one message. */
const INPUT_BYTES = 256 * 1024;
const STDERR_CHARS = 2_000;
/** Milliseconds for a killed program to be reported as ended. */
const ENDING_MS = 2_000;

/** Archives through a `tar` program in the sandbox, for every daemon of the wire. */
export function createProcessArchives(processes: ProcessClient, filesystem: FilesystemClient, envdVersion: string): ArchiveClient {
  const startTar = async (args: readonly string[], cwd: string, stdin: boolean, options: ArchiveCallOptions): Promise<ProcessStream> => {
    const { operation, signal, requestTimeoutMs, user } = options;
    try {
      return await processes.start({ cmd: "tar", args, envs: {}, cwd, user, stdin }, { operation, signal, requestTimeoutMs, timeoutMs: 0 });
    } catch (error) {
      // The directory was looked up before, so it is the program that is missing.
      if (!SandboxError.isInstance(error) || error.reason !== "invalid_argument") throw error;
      throw new FailedPreconditionError(`${operation}: the sandbox cannot run 'tar', which carries directories: ${error.message}`, {
        operation,
        cause: error,
      });
    }
  };
  async function* readOutput(stream: ProcessStream, operation: string): AsyncGenerator<Uint8Array, void, undefined> {
    let isOver = false;
    try {
      const ending = new Ending();
      for await (const event of stream.events) {
        if (event.type === "stdout") yield event.data;
        else ending.add(event);
      }
      isOver = true;
      ending.assertSuccess(operation);
    } finally {
      if (!isOver) {
        stream.cancel(new InternalError(`${operation}: the archive is no longer read`));
        processes.kill(stream.pid, { operation }).catch(() => {});
      }
    }
  }

  return {
    async read(path, { ignore, ...options }) {
      const rules = createIgnoreRules(ignore);
      // An error about a missing directory names it, while that of a process speaks of its working directory.
      await filesystem.stat(path, options);
      const output = readOutput(await startTar(["-c", "-f", "-", "."], path, false, options), options.operation);
      return ignore.length === 0 ? output : filterTar(output, rules);
    },
    async write(path, archive, options) {
      const { operation, signal, requestTimeoutMs } = options;
      if (!isVersionAtLeast(envdVersion, DAEMON_FEATURES.closeStdin)) {
        throw new UnimplementedError(
          `${operation}: the daemon (version ${envdVersion}) cannot end the input of a process; rebuild the template`,
          {
            operation,
          },
        );
      }
      await filesystem.makeDir(path, options);
      const stream = await startTar(["-x", "-p", "-o", "-f", "-"], path, true, options);
      const call = { operation, signal, requestTimeoutMs };
      const ending = new Ending();
      const watching = (async () => {
        for await (const event of stream.events) ending.add(event);
      })();
      // Awaited after the input.
      watching.catch(() => {});
      try {
        for await (const piece of inPieces(archive)) {
          if (ending.hasCome) break;
          await processes.sendInput(stream.pid, "stdin", piece, call);
        }
        await processes.closeStdin(stream.pid, call);
      } catch (error) {
        await processes.kill(stream.pid, { operation }).catch(() => {});
        if (!signal?.aborted) await settledWithin(watching, ENDING_MS);
        stream.cancel(error);
        if (!ending.isByItself) throw error;
        // A program that ended by itself takes no more input, and says itself how it ended.
        ending.assertSuccess(operation);
        return;
      }
      await watching;
      ending.assertSuccess(operation);
    },
  };
}

/** What a program says about its end. */
class Ending {
  #stderr = "";
  #exitCode: number | undefined;
  readonly #decoder = new TextDecoder();

  add(event: { readonly type: string; readonly data?: Uint8Array; readonly exitCode?: number }): void {
    if (event.type === "end") this.#exitCode = event.exitCode;
    else if (event.type === "stderr" && this.#stderr.length < STDERR_CHARS) {
      this.#stderr = (this.#stderr + this.#decoder.decode(event.data, { stream: true })).slice(0, STDERR_CHARS);
    }
  }

  get hasCome(): boolean {
    return this.#exitCode !== undefined;
  }

  /** The end came, and not by a signal. */
  get isByItself(): boolean {
    return this.#exitCode !== undefined && this.#exitCode >= 0;
  }

  assertSuccess(operation: string): void {
    if (this.#exitCode === 0) return;
    const said = this.#stderr.trim();
    throw new InternalError(`${operation}: tar ended with status ${this.#exitCode}${said === "" ? "" : `: ${said}`}`, { operation });
  }
}

/** Resolves with the promise, whatever becomes of it, or after the time. */
async function settledWithin(promise: Promise<unknown>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([promise, timeout]).catch(() => {});
  clearTimeout(timer);
}

/** Join small chunks and cut large ones. */
async function* inPieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let buffer = new Uint8Array(INPUT_BYTES);
  let length = 0;
  for await (const chunk of source) {
    for (let offset = 0; offset < chunk.length; ) {
      const part = chunk.subarray(offset, offset + INPUT_BYTES - length);
      buffer.set(part, length);
      length += part.length;
      offset += part.length;
      if (length < INPUT_BYTES) continue;
      yield buffer;
      buffer = new Uint8Array(INPUT_BYTES);
      length = 0;
    }
  }
  if (length > 0) yield buffer.subarray(0, length);
}
