import type { Signal, ProcessEvent as WireEvent } from "../../gen/proto/process/process_pb.js";
import { ProtocolError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { signalOfWords } from "../shared/signal-words.js";
import type { RequestOptions } from "../transport/config.js";
import type { RpcClient, RpcStream } from "../transport/rpc.js";
import type { CallSpan } from "../transport/telemetry.js";
import type { ProcessEvent, ProcessStream } from "./process-events.js";
import { toReconnectingStream } from "./reconnecting-stream.js";

/** What the wire can send, by its numbers. */
const SIGNALS = { SIGTERM: 15, SIGKILL: 9 } satisfies Record<string, Signal>;

/** A running process. */
export interface ProcessInfo {
  readonly pid: number;
  readonly tag?: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Window of a terminal, in characters. */
export interface PtySize {
  readonly cols: number;
  readonly rows: number;
}

/** A process to start. */
export interface ProcessSpec {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly user?: string | undefined;
  readonly tag?: string | undefined;
  /** A pipe that stays open for input; without it the process reads end-of-file. Terminals ignore it. */
  readonly stdin?: boolean | undefined;
  readonly pty?: PtySize | undefined;
}

/** Options of a call that opens a stream. */
export interface ProcessStreamOptions extends RequestOptions {
  readonly operation: string;
  /** `0` has no end. */
  readonly timeoutMs: number;
  /** Go on after output was lost, and report that as a `gap`. Without it a stream that lost output rejects. @defaultValue false */
  readonly acceptsGaps?: boolean | undefined;
  /** Of the call that the stream belongs to. */
  readonly span?: CallSpan | undefined;
}

/** Options of a call that does not. */
export interface ProcessCallOptions extends RequestOptions {
  readonly operation: string;
}

/** The process service of a daemon in domain terms. */
export interface ProcessClient {
  /** Start a process; resolves when the daemon reported its pid. */
  start(spec: ProcessSpec, options: ProcessStreamOptions): Promise<ProcessStream>;
  /** Follow a process from now on. */
  attach(pid: number, options: ProcessStreamOptions): Promise<ProcessStream>;
  list(options: ProcessCallOptions): Promise<ProcessInfo[]>;
  /** Deliver input once, however often it has to be sent. */
  sendInput(pid: number, kind: "stdin" | "pty", data: Uint8Array, options: ProcessCallOptions): Promise<void>;
  closeStdin(pid: number, options: ProcessCallOptions): Promise<void>;
  /** Send SIGKILL; false when there was no such process. */
  kill(pid: number, options: ProcessCallOptions): Promise<boolean>;
  /**
   * Send a POSIX signal by its name; false when there was no such process.
   *
   * @throws {@link UnimplementedError} the daemon cannot send this one; {@link InvalidArgumentError} there is no such signal.
   */
  sendSignal(pid: number, signal: string, options: ProcessCallOptions): Promise<boolean>;
  resize(pid: number, size: PtySize, options: ProcessCallOptions): Promise<void>;
}

/**
 * Put the process service that all daemons have into domain terms.
 *
 * @param retries how often a broken stream is opened again; it continues with the live process, so output in between is lost
 */
export function createProcessClient(rpc: RpcClient, retries: number): ProcessClient {
  const attach = async (pid: number, options: ProcessStreamOptions, isInFlight: boolean) => {
    const call = { ...options, notFound: "process_not_found", isInFlight } as const;
    const stream = await rpc.stream(({ Process }) => Process.method.connect, { process: selectPid(pid) }, call);
    return toProcessStream(stream, options.operation);
  };
  const again = (pid: number, options: ProcessStreamOptions) => attach(pid, options, true);
  const sendSignal = async (pid: number, signal: Signal, options: ProcessCallOptions): Promise<boolean> => {
    try {
      await rpc.unary(
        ({ Process }) => Process.method.sendSignal,
        { process: selectPid(pid), signal },
        { ...options, notFound: "process_not_found" },
      );
      return true;
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "process_not_found") return false;
      throw error;
    }
  };
  return {
    async start(spec, options) {
      const { cwd, tag, pty, stdin } = spec;
      const stream = await rpc.stream(
        ({ Process }) => Process.method.start,
        {
          process: { cmd: spec.cmd, args: [...spec.args], envs: { ...spec.envs }, ...(cwd !== undefined && { cwd }) },
          ...(tag !== undefined && { tag }),
          ...(pty === undefined ? { stdin: stdin ?? false } : { pty: { size: { ...pty } } }),
        },
        { ...options, user: spec.user },
      );
      return toReconnectingStream(toProcessStream(stream, options.operation), { ...options, retries, attach: again });
    },
    async attach(pid, options) {
      return toReconnectingStream(await attach(pid, options, false), { ...options, retries, attach: again });
    },
    async list(options) {
      const { processes } = await rpc.unary(({ Process }) => Process.method.list, {}, { ...options, isIdempotent: true });
      return processes.map(({ pid, tag, config }) => ({
        pid,
        ...(tag !== undefined && { tag }),
        cmd: config?.cmd ?? "",
        args: config?.args ?? [],
        envs: config?.envs ?? {},
        ...(config?.cwd !== undefined && { cwd: config.cwd }),
      }));
    },
    async sendInput(pid, kind, data, options) {
      const input = { process: selectPid(pid), input: { input: { case: kind, value: data } } };
      await rpc.unary(({ Process }) => Process.method.sendInput, input, { ...options, notFound: "process_not_found" });
    },
    async closeStdin(pid, options) {
      await rpc.unary(
        ({ Process }) => Process.method.closeStdin,
        { process: selectPid(pid) },
        { ...options, notFound: "process_not_found", isIdempotent: true },
      );
    },
    kill: (pid, options) => sendSignal(pid, SIGNALS.SIGKILL, options),
    async sendSignal(pid, signal, options) {
      if (signal !== "SIGKILL" && signal !== "SIGTERM") {
        throw new UnimplementedError(`${options.operation}: this daemon sends SIGTERM and SIGKILL only, not '${signal}'`, {
          operation: options.operation,
        });
      }
      return sendSignal(pid, SIGNALS[signal], options);
    },
    async resize(pid, size, options) {
      await rpc.unary(
        ({ Process }) => Process.method.update,
        { process: selectPid(pid), pty: { size: { ...size } } },
        { ...options, notFound: "process_not_found", isIdempotent: true },
      );
    },
  };
}

function selectPid(pid: number) {
  return { selector: { case: "pid", value: pid } } as const;
}

function toProcessStream(stream: RpcStream<{ readonly event?: WireEvent | undefined }>, operation: string): ProcessStream {
  const first = stream.first.event?.event;
  if (first?.case !== "start") {
    const error = new ProtocolError(`${operation}: the daemon did not begin with the pid of the process`, { operation });
    stream.cancel(error);
    throw error;
  }
  return { pid: first.value.pid, events: readEvents(stream.rest, operation), cancel: (reason) => stream.cancel(reason) };
}

async function* readEvents(
  messages: AsyncIterable<{ readonly event?: WireEvent | undefined }>,
  operation: string,
): AsyncGenerator<ProcessEvent, void, undefined> {
  let hasEnded = false;
  for await (const { event } of messages) {
    const kind = event?.event;
    // Keepalives and events of a newer daemon carry nothing for us.
    if (kind?.case === "data" && kind.value.output.case !== undefined) {
      yield { type: kind.value.output.case, data: kind.value.output.value };
    } else if (kind?.case === "end") {
      hasEnded = true;
      const { status, error } = kind.value;
      // A daemon that counts the number as outdated leaves it 0 and tells it in words.
      const exitCode = kind.value.exitCode || Number(/^exit status (\d+)$/.exec(status)?.[1] ?? 0);
      yield { type: "end", exitCode, error, signal: signalOfWords(error), isOutOfMemory: false };
    }
  }
  if (!hasEnded)
    throw new ProtocolError(`${operation}: the daemon completed the stream without saying how the process ended`, { operation });
}
