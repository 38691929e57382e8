import { ProtocolError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { RpcClient } from "../transport/rpc.js";
import { toStreamTimeout } from "../transport/stream-timeout.js";
import { pause } from "./backoff.js";
import type { ProcessCallOptions, ProcessClient, ProcessSpec, ProcessStreamOptions } from "./process-client.js";
import type { ProcessStream } from "./process-events.js";
import { GIVE_UP_MS, isPassing, Outage, toResumableStream, type WireStream } from "./resumable-stream.js";
import { SILENCE_MS, StreamLife } from "./stream-life.js";

/** The name under which a platform announces this service. */
export const RESUMABLE_SERVICE = "process.v1";

/** The daemon ends a process at its deadline; the client waits this much longer for the news. */
const DEADLINE_GRACE_MS = 2_000;
const MAX_UINT32 = 2 ** 32 - 1;

/** The process service of a daemon of ours: streams survive broken connections, and starts and input are repeated without harm. */
export function createResumableProcessClient(rpc: RpcClient, shared: ProcessClient): ProcessClient {
  const open = (first: WireStream, life: StreamLife, options: ProcessStreamOptions): ProcessStream => {
    const { operation } = options;
    return toResumableStream(first, {
      operation,
      life,
      acceptsGaps: options.acceptsGaps ?? false,
      toTimeout: () => toStreamTimeout({ operation, sandboxId: rpc.sandboxId }, options.timeoutMs),
      attach: (startId, fromOffset) =>
        rpc.stream(
          ({ ProcessService }) => ProcessService.method.attach,
          { process: { selector: { case: "startId", value: startId } }, fromOffset },
          { ...streamOptions(options, life), notFound: "process_not_found", isInFlight: true },
        ),
    });
  };
  const sendSignal = async (selector: Selector, signal: string, options: ProcessCallOptions): Promise<boolean> => {
    try {
      await rpc.unary(
        ({ ProcessService }) => ProcessService.method.sendSignal,
        { process: { selector }, signal },
        // What was killed cannot be killed again; any other signal may mean something each time it comes.
        { ...options, notFound: "process_not_found", isIdempotent: signal === "SIGKILL" },
      );
      return true;
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "process_not_found") return false;
      throw error;
    }
  };
  const sendInput = async (pid: number, data: Uint8Array, close: boolean, options: ProcessCallOptions): Promise<void> => {
    await rpc.unary(
      ({ ProcessService }) => ProcessService.method.sendInput,
      { process: { selector: byPid(pid) }, inputId: crypto.randomUUID(), data: data as Uint8Array<ArrayBuffer>, close }, // never shared memory
      { ...options, notFound: "process_not_found", isIdempotent: true },
    );
  };

  return {
    ...shared,
    async start(spec, options) {
      const life = new StreamLife(options.signal);
      const startId = crypto.randomUUID();
      try {
        const first = await startOnce(rpc, startId, spec, life, options);
        const { timeoutMs, operation } = options;
        const graceMs = timeoutMs === 0 ? 0 : timeoutMs + DEADLINE_GRACE_MS;
        life.endAfter(graceMs, () => toStreamTimeout({ operation, sandboxId: rpc.sandboxId }, timeoutMs));
        return open(first, life, options);
      } catch (error) {
        // A refusal started nothing. Otherwise it may run, and nobody has a handle on it.
        if (life.signal.aborted || isUncertain(error)) {
          sendSignal({ case: "startId", value: startId }, "SIGKILL", { operation: options.operation }).catch(() => {});
        }
        life[Symbol.dispose]();
        throw error;
      }
    },
    async attach(pid, options) {
      const life = new StreamLife(options.signal);
      const { timeoutMs, operation } = options;
      try {
        const first = await rpc.stream(
          ({ ProcessService }) => ProcessService.method.attach,
          { process: { selector: byPid(pid) } },
          { ...streamOptions(options, life), notFound: "process_not_found" },
        );
        life.endAfter(timeoutMs, () => toStreamTimeout({ operation, sandboxId: rpc.sandboxId }, timeoutMs));
        return open(first, life, options);
      } catch (error) {
        life[Symbol.dispose]();
        throw error;
      }
    },
    sendInput: (pid, _kind, data, options) => sendInput(pid, data, false, options),
    closeStdin: (pid, options) => sendInput(pid, new Uint8Array(), true, options),
    kill: (pid, options) => sendSignal(byPid(pid), "SIGKILL", options),
    sendSignal: (pid, signal, options) => sendSignal(byPid(pid), signal, options),
  };
}

type Selector = { readonly case: "pid"; readonly value: number } | { readonly case: "startId"; readonly value: string };

function byPid(pid: number): Selector {
  return { case: "pid", value: pid };
}

/** Start a process, however often the request or its answer is lost on the way. */
async function startOnce(
  rpc: RpcClient,
  startId: string,
  spec: ProcessSpec,
  life: StreamLife,
  options: ProcessStreamOptions,
): Promise<WireStream> {
  const { cwd, tag, pty, stdin } = spec;
  const request = {
    startId,
    cmd: spec.cmd,
    args: [...spec.args],
    envs: { ...spec.envs },
    ...(cwd !== undefined && { cwd }),
    ...(tag !== undefined && { tag }),
    ...(pty === undefined ? { stdin: stdin ?? false } : { pty: { ...pty } }),
    timeoutMs: options.timeoutMs > MAX_UINT32 ? 0 : options.timeoutMs,
    fromOffset: 0n,
  };
  const limitMs = Math.min(GIVE_UP_MS, options.requestTimeoutMs || GIVE_UP_MS);
  const outage = new Outage(options.operation);
  for (;;) {
    try {
      const stream = await rpc.stream(({ ProcessService }) => ProcessService.method.start, request, {
        ...streamOptions(options, life),
        user: spec.user,
      });
      if (stream.first.event?.event.case === "started") return stream;
      const error = new ProtocolError(`${options.operation}: the daemon did not begin with the pid of the process`, {
        operation: options.operation,
      });
      stream.cancel(error);
      throw error;
    } catch (error) {
      if (life.signal.aborted || !isPassing(error) || isRefusal(error)) throw error;
      await pause(outage.nextPauseMs(error, limitMs), life.signal);
    }
  }
}

function streamOptions({ operation, requestTimeoutMs, span }: ProcessStreamOptions, life: StreamLife) {
  return { operation, requestTimeoutMs, span, signal: life.signal, timeoutMs: 0, keepaliveMs: SILENCE_MS / 3 };
}

/** The daemon said no: too many processes is not a matter of the connection. */
function isRefusal(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.reason !== "connection";
}

function isUncertain(error: unknown): boolean {
  return SandboxError.isInstance(error) && ["connection", "timeout", "protocol"].includes(error.reason);
}
