import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ProcessEvent, ProcessEventSchema } from "../../../gen/proto/process/process_pb.js";
import { TimeoutError } from "../../errors/error-classes.js";
import { describeExit } from "./exit-status.js";
import type { FollowMessages } from "./follow.js";
import type { ManagedProcess } from "./managed-process.js";
import { joinPiece } from "./output-cursor.js";

/** A message of the streams of `process.Process`. */
export interface SharedMessage {
  readonly event: ProcessEvent;
}

/**
 * The messages of `process.Process`.
 *
 * @param isStarter the reader started the process, so it learns that the process's deadline killed it
 */
export function sharedMessages(isStarter: boolean): FollowMessages<SharedMessage> {
  return {
    started: (process) => [toMessage({ case: "start", value: { pid: process.pid } })],
    // The generated type wants bytes over an ArrayBuffer; those of the log are, never over a SharedArrayBuffer.
    output: (piece) =>
      toMessage({ case: "data", value: { output: { case: piece.kind, value: joinPiece(piece) as Uint8Array<ArrayBuffer> } } }),
    keepalive: () => toMessage({ case: "keepalive", value: {} }),
    ended(process) {
      if (isStarter && process.isTimedOut) {
        throw new TimeoutError(`process ${process.pid} ran longer than its timeout and was killed`, { timeout: "command" });
      }
      return endMessage(process);
    },
  };
}

type EventInit = Exclude<Parameters<typeof create<typeof ProcessEventSchema>>[1], undefined>["event"];

function toMessage(event: EventInit): SharedMessage {
  return { event: create(ProcessEventSchema, { event } as Parameters<typeof create<typeof ProcessEventSchema>>[1]) };
}

function endMessage(process: ManagedProcess): SharedMessage {
  const { exit } = process;
  if (exit === undefined) throw new ConnectError(`the exit of process ${process.pid} is not known`, Code.Internal);
  const status = describeExit(exit);
  const isSuccess = exit.kind === "exited" && exit.code === 0;
  return toMessage({
    case: "end",
    value: {
      exitCode: exit.kind === "exited" ? exit.code : -1,
      exited: exit.kind === "exited",
      status,
      ...(isSuccess ? {} : { error: status }),
    },
  });
}
