import { constants } from "node:os";
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AttachRequest,
  type ProcessSelector,
  ProcessService,
  type SendInputRequest,
  type StartRequest,
} from "../../../gen/proto/agentsandbox/process/v1/process_pb.js";
import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { readTraceVariables } from "../../shared/trace-context.js";
import type { DaemonState } from "../daemon-state.js";
import { keepaliveIntervalMs } from "../keepalive.js";
import { type BinaryStream, pathOf, type StreamCall } from "../rpc-stream.js";
import { requestUser, resolveUser } from "../users.js";
import { binaryMessages } from "./binary-messages.js";
import { type FollowMessages, followProcess } from "./follow.js";
import type { ManagedProcess } from "./managed-process.js";
import type { ProcessRegistry, Selector } from "./process-registry.js";
import { RESUMABLE_LAYOUT, resumableMessages } from "./resumable-messages.js";
import { assertRepeatId } from "./start-ids.js";

/** How long output is kept whole, and the process waits, for a reader that lost its connection. */
const RESUME_GRACE_MS = 5_000;

/** The handlers of `agentsandbox.process.v1.ProcessService`, over the same processes as `process.Process`. */
export function createResumableService(registry: ProcessRegistry, state: DaemonState) {
  return {
    async *start(request, context) {
      const process = await startProcess(request, context, registry, state);
      yield* follow(process, toOffset(request.fromOffset, process), context, resumableMessages);
    },

    async *attach(request, context) {
      const process = registry.findRecent(toSelector(request.process));
      yield* follow(process, attachOffset(request, process), context, resumableMessages);
    },

    async sendInput(request) {
      assertRepeatId("input_id", request.inputId);
      const selector = toSelector(request.process);
      const recent = registry.findRecent(selector);
      // The input may have been the last that the process needed, so a repetition can come after its end.
      const process = recent.inputs.knows(request.inputId) ? recent : registry.find(selector);
      await process.inputs.once(request.inputId, () => giveInput(process, request));
      return { inputBytes: BigInt(process.inputBytes) };
    },

    async sendSignal(request) {
      const selector = toSelector(request.process);
      const signal = toSignal(request.signal);
      const isGivenUp = selector.case === "startId" && signal === "SIGKILL";
      const process = isGivenUp ? await registry.giveUp(selector.value) : registry.find(selector);
      process.signal(signal);
      return {};
    },
  } satisfies ServiceImpl<typeof ProcessService>;
}

/** The streams of the service in binary, by their paths: the same calls without a copy of the output. */
export function createResumableStreams(registry: ProcessRegistry, state: DaemonState): ReadonlyMap<string, BinaryStream> {
  const { start, attach } = ProcessService.method;
  return new Map<string, BinaryStream>([
    [
      pathOf(start),
      async function* (message, call) {
        const request = decode(start.input, message);
        const process = await startProcess(request, call, registry, state);
        const encoded = (fromOffset?: number) => binaryMessages(start.output, resumableMessages(fromOffset), RESUMABLE_LAYOUT);
        yield* follow(process, toOffset(request.fromOffset, process), call, encoded);
      },
    ],
    [
      pathOf(attach),
      async function* (message, call) {
        const request = decode(attach.input, message);
        const process = registry.findRecent(toSelector(request.process));
        const encoded = (fromOffset?: number) => binaryMessages(attach.output, resumableMessages(fromOffset), RESUMABLE_LAYOUT);
        yield* follow(process, attachOffset(request, process), call, encoded);
      },
    ],
  ]);
}

function follow<T>(
  process: ManagedProcess,
  fromOffset: number | undefined,
  call: StreamCall,
  toMessages: (fromOffset?: number) => FollowMessages<T>,
): AsyncGenerator<T> {
  return followProcess(process, process.follow(fromOffset), {
    signal: call.signal,
    keepaliveMs: keepaliveIntervalMs(call.requestHeader),
    onLost: () => process.log.hold(RESUME_GRACE_MS),
    messages: toMessages(fromOffset),
  });
}

function decode<D extends DescMessage>(schema: D, message: Uint8Array): MessageShape<D> {
  try {
    return fromBinary(schema, message);
  } catch (cause) {
    throw new InvalidArgumentError("the message of the request cannot be decoded", { cause });
  }
}

function attachOffset({ fromOffset }: AttachRequest, process: ManagedProcess): number | undefined {
  return fromOffset === undefined ? undefined : toOffset(fromOffset, process);
}

async function startProcess(
  request: StartRequest,
  context: StreamCall,
  registry: ProcessRegistry,
  state: DaemonState,
): Promise<ManagedProcess> {
  assertRepeatId("start_id", request.startId);
  const user = resolveUser(requestUser(context.requestHeader), state);
  if (context.signal.aborted) throw new ConnectError("the client left before the process was started", Code.Canceled);
  return registry.start({
    cmd: request.cmd,
    args: request.args,
    envs: request.envs,
    traceVars: readTraceVariables((name) => context.requestHeader.get(name)),
    cwd: request.cwd,
    tag: request.tag,
    startId: request.startId,
    user,
    hasStdin: request.stdin,
    terminal: request.pty && { size: { cols: request.pty.cols, rows: request.pty.rows } },
    timeoutMs: request.timeoutMs === 0 ? undefined : request.timeoutMs,
  });
}

function toOffset(offset: bigint, process: ManagedProcess): number {
  const { endOffset } = process.log;
  if (offset > BigInt(endOffset)) {
    throw new InvalidArgumentError(`from_offset ${offset} lies beyond the output of process ${process.pid}, which has ${endOffset} bytes`);
  }
  return Number(offset);
}

async function giveInput(process: ManagedProcess, { data, close }: SendInputRequest): Promise<void> {
  const { hasTerminal } = process.description;
  if (close && hasTerminal) {
    throw new FailedPreconditionError(`process ${process.pid} has a terminal, whose input ends by sending it byte 0x04`);
  }
  try {
    if (data.length > 0) await process.write(hasTerminal ? "pty" : "stdin", data);
  } catch (cause) {
    if (!SandboxError.isInstance(cause) || cause.reason !== "internal") throw cause;
    throw new FailedPreconditionError(cause.message, { cause });
  }
  if (close) process.closeStdin();
}

function toSelector(selector: ProcessSelector | undefined): Selector {
  const named = selector?.selector;
  if (named?.case === undefined) throw new InvalidArgumentError("the request selects no process: give a pid, a tag or a start_id");
  return named;
}

function toSignal(name: string): NodeJS.Signals {
  if (!Object.hasOwn(constants.signals, name)) throw new InvalidArgumentError(`there is no signal '${name}' on this system`);
  // The table of node:os has exactly the names that NodeJS.Signals lists.
  return name as NodeJS.Signals;
}
