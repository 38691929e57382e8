import { Code, ConnectError, createContextKey, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  type Process,
  type ProcessConfig,
  type ProcessInput,
  type ProcessSelector,
  type PTY,
  Signal,
  type StartRequest,
} from "../../../gen/proto/process/process_pb.js";
import { InvalidArgumentError, UnimplementedError } from "../../errors/error-classes.js";
import { readTraceVariables } from "../../shared/trace-context.js";
import type { DaemonState } from "../daemon-state.js";
import { keepaliveIntervalMs } from "../keepalive.js";
import { requestUser, resolveUser } from "../users.js";
import { followProcess } from "./follow.js";
import type { TerminalSize } from "./launch-terminal.js";
import type { ManagedProcess } from "./managed-process.js";
import type { ProcessRegistry, Selector } from "./process-registry.js";
import { sharedMessages } from "./shared-messages.js";

/** Deadline of the started process in milliseconds: on Start the request's timeout belongs to the process, not to the stream. */
export const processTimeoutMs = createContextKey<number | undefined>(undefined);

/** The handlers of `process.Process`; each translates between messages and the registry. */
export function createProcessService(registry: ProcessRegistry, state: DaemonState) {
  return {
    list() {
      return {
        processes: registry.list().map((process) => ({
          config: configOf(process),
          pid: process.pid,
          ...(process.description.tag === undefined ? {} : { tag: process.description.tag }),
        })),
      };
    },

    async *start(request, context) {
      const process = await startProcess(request, context, registry, state);
      yield* follow(process, context, true);
    },

    async *connect(request, context) {
      const process = registry.findRecent(toSelector(request.process));
      yield* follow(process, context, false);
    },

    update(request) {
      const process = registry.find(toSelector(request.process));
      if (request.pty !== undefined) {
        const size = toSize(request.pty);
        if (size !== undefined || !process.description.hasTerminal) process.resize(size?.cols ?? 1, size?.rows ?? 1);
      }
      return {};
    },

    async sendInput(request) {
      await writeInput(registry.find(toSelector(request.process)), request.input);
      return {};
    },

    async streamInput(requests) {
      let process: ManagedProcess | undefined;
      for await (const { event } of requests) {
        switch (event.case) {
          case "start":
            if (process !== undefined) throw new InvalidArgumentError("the input stream names its process twice");
            process = registry.find(toSelector(event.value.process));
            break;
          case "data":
            if (process === undefined) throw new InvalidArgumentError("the first message of an input stream must be start");
            await writeInput(process, event.value.input);
            break;
          case "keepalive":
            break;
          default:
            throw new UnimplementedError("the input stream carries an event that this daemon does not know");
        }
      }
      return {};
    },

    sendSignal(request) {
      const process = registry.find(toSelector(request.process));
      process.signal(toSignal(request.signal));
      return {};
    },

    closeStdin(request) {
      const process = registry.find(toSelector(request.process));
      if (process.description.hasTerminal) {
        throw new ConnectError(`process ${process.pid} has a terminal, whose input ends by sending it byte 0x04`, Code.Unknown);
      }
      process.closeStdin();
      return {};
    },
  } satisfies ServiceImpl<typeof Process>;
}

function follow(process: ManagedProcess, context: HandlerContext, isStarter: boolean) {
  const keepaliveMs = keepaliveIntervalMs(context.requestHeader);
  return followProcess(process, process.follow(), { signal: context.signal, keepaliveMs, messages: sharedMessages(isStarter) });
}

async function startProcess(
  request: StartRequest,
  context: HandlerContext,
  registry: ProcessRegistry,
  state: DaemonState,
): Promise<ManagedProcess> {
  const config = request.process;
  if (config === undefined) throw new InvalidArgumentError("the request names no process to start");
  const user = resolveUser(requestUser(context.requestHeader), state);
  if (context.signal.aborted) throw new ConnectError("the client left before the process was started", Code.Canceled);
  return registry.start({
    cmd: config.cmd,
    args: config.args,
    envs: config.envs,
    traceVars: readTraceVariables((name) => context.requestHeader.get(name)),
    cwd: config.cwd,
    tag: request.tag,
    user,
    hasStdin: request.stdin ?? true,
    terminal: request.pty && { size: toSize(request.pty) },
    timeoutMs: context.values.get(processTimeoutMs),
  });
}

async function writeInput(process: ManagedProcess, input: ProcessInput | undefined): Promise<void> {
  const kind = input?.input.case;
  if (input?.input.value === undefined || kind === undefined) throw new UnimplementedError("the input is neither stdin nor pty");
  await process.write(kind, input.input.value);
}

function configOf(process: ManagedProcess): Pick<ProcessConfig, "cmd" | "args" | "envs"> & { cwd?: string } {
  const { cmd, args, envs, cwd } = process.description;
  return { cmd, args: [...args], envs: { ...envs }, ...(cwd === undefined ? {} : { cwd }) };
}

function toSelector(selector: ProcessSelector | undefined): Selector {
  const named = selector?.selector;
  if (named?.case === undefined) throw new UnimplementedError("the request selects no process: give a pid or a tag");
  return named;
}

function toSize(pty: PTY): TerminalSize | undefined {
  return pty.size && { cols: pty.size.cols, rows: pty.size.rows };
}

function toSignal(signal: Signal): NodeJS.Signals {
  switch (signal) {
    case Signal.SIGTERM:
      return "SIGTERM";
    case Signal.SIGKILL:
      return "SIGKILL";
    default:
      throw new UnimplementedError(`signal ${signal} is not supported here: SIGTERM and SIGKILL are`);
  }
}
