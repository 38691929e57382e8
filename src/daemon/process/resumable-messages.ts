import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ProcessEvent, ProcessEventSchema } from "../../../gen/proto/agentsandbox/process/v1/process_pb.js";
import type { OutputLayout } from "./binary-messages.js";
import type { FollowMessages } from "./follow.js";
import type { ManagedProcess } from "./managed-process.js";
import { joinPiece } from "./output-cursor.js";

/** `event` (1) of the stream's message, `output` (2) of the event, its `offset` (1) before the bytes. */
export const RESUMABLE_LAYOUT: OutputLayout = { path: [1, 2], dataField: { stdout: 2, stderr: 3, pty: 4 }, offsetField: 1 };

/** A message of the streams of `agentsandbox.process.v1.ProcessService`. */
export interface ResumableMessage {
  readonly event: ProcessEvent;
}

type EventInit = NonNullable<MessageInitShape<typeof ProcessEventSchema>["event"]>;

/**
 * The messages of `agentsandbox.process.v1.ProcessService`.
 *
 * @param fromOffset the output byte that the reader wants first; `undefined` wants what comes next
 */
export function resumableMessages(fromOffset: number | undefined): FollowMessages<ResumableMessage> {
  return {
    started(process, cursor) {
      const offset = cursor.offset;
      const { startId } = process.description;
      const started = toMessage({ case: "started", value: { pid: process.pid, offset: BigInt(offset), startId } });
      const missingBytes = offset - (fromOffset ?? offset);
      if (missingBytes === 0) return [started];
      return [started, toMessage({ case: "gap", value: { offset: BigInt(fromOffset ?? 0), missingBytes: BigInt(missingBytes) } })];
    },
    output: (piece) =>
      // The generated type wants bytes over an ArrayBuffer; those of the log are, never over a SharedArrayBuffer.
      toMessage({
        case: "output",
        value: { offset: BigInt(piece.offset), data: { case: piece.kind, value: joinPiece(piece) as Uint8Array<ArrayBuffer> } },
      }),
    keepalive: () => toMessage({ case: "keepalive", value: {} }),
    ended: (process) =>
      toMessage({
        case: "ended",
        value: { outcome: outcomeOf(process), outputBytes: BigInt(process.log.endOffset), outOfMemory: process.isOutOfMemory },
      }),
  };
}

function outcomeOf(process: ManagedProcess) {
  const { exit, isTimedOut, timeoutMs } = process;
  if (exit === undefined) throw new ConnectError(`the exit of process ${process.pid} is not known`, Code.Internal);
  if (isTimedOut) return { case: "timedOut", value: { timeoutMs: timeoutMs ?? 0 } } as const;
  if (exit.kind === "exited") return { case: "exited", value: exit.code } as const;
  return { case: "signaled", value: typeof exit.signal === "number" ? `SIG${exit.signal}` : exit.signal } as const;
}

function toMessage(event: EventInit): ResumableMessage {
  return { event: create(ProcessEventSchema, { event }) };
}
