import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ProcessEvent, ProcessEventSchema } from "../../../gen/proto/process/process_pb.js";
import { TimeoutError } from "../../errors/error-classes.js";
import { describeExit } from "./exit-status.js";
import type { ManagedProcess } from "./managed-process.js";
import type { OutputCursor, OutputPiece } from "./output-log.js";

/** A reader that is behind gets output in larger pieces, which cost less for each byte. */
const MAX_DATA_BYTES = 256 * 1024;

export interface FollowOptions {
  /** The reader left, or its deadline passed. */
  readonly signal: AbortSignal;
  /** Silence after which a keepalive is sent, in milliseconds. */
  readonly keepaliveMs: number;
  /** The reader started the process, so it learns that the process's deadline killed it. */
  readonly isStarter: boolean;
}

/**
 * The events of one stream, in the order of the contract: `start`, then `data` and `keepalive`, then `end` once.
 *
 * Leaving the stream never touches the process. When a stream is cut, no `end` is made up.
 */
export async function* followProcess(process: ManagedProcess, options: FollowOptions): AsyncGenerator<ProcessEvent> {
  const { signal } = options;
  const cursor = process.follow();
  const release = () => cursor.close();
  // The response of a vanished client may never ask for the next event, so `finally` alone is not enough.
  signal.addEventListener("abort", release, { once: true });
  try {
    yield create(ProcessEventSchema, { event: { case: "start", value: { pid: process.pid } } });
    for (;;) {
      assertConnected(signal);
      const piece = cursor.take(MAX_DATA_BYTES);
      if (piece !== undefined) yield dataEvent(piece);
      else if (cursor.isDone) break;
      else if ((await waitForOutput(cursor, signal, options.keepaliveMs)) === "silence") {
        yield create(ProcessEventSchema, { event: { case: "keepalive", value: {} } });
      }
    }
    if (options.isStarter && process.isTimedOut) {
      throw new TimeoutError(`process ${process.pid} ran longer than its timeout and was killed`, { timeout: "command" });
    }
    yield endEvent(process);
  } finally {
    signal.removeEventListener("abort", release);
    release();
  }
}

function assertConnected(signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw signal.reason instanceof ConnectError ? signal.reason : new ConnectError("the client left the stream", Code.Canceled);
}

function waitForOutput(cursor: OutputCursor, signal: AbortSignal, silenceMs: number): Promise<"change" | "silence"> {
  return new Promise((resolve) => {
    const finish = (result: "change" | "silence") => {
      clearTimeout(timer);
      cursor.onWake(undefined);
      signal.removeEventListener("abort", onChange);
      resolve(result);
    };
    const onChange = () => finish("change");
    const timer = setTimeout(() => finish("silence"), silenceMs);
    cursor.onWake(onChange);
    signal.addEventListener("abort", onChange, { once: true });
    if (signal.aborted) onChange();
  });
}

function dataEvent(piece: OutputPiece): ProcessEvent {
  return create(ProcessEventSchema, { event: { case: "data", value: { output: { case: piece.kind, value: exactBytes(piece.bytes) } } } });
}

/** The generated type wants bytes over an ArrayBuffer; those of the log are, never over a SharedArrayBuffer. */
function exactBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes as Uint8Array<ArrayBuffer>;
}

function endEvent(process: ManagedProcess): ProcessEvent {
  const { exit } = process;
  if (exit === undefined) throw new ConnectError(`the exit of process ${process.pid} is not known`, Code.Internal);
  const status = describeExit(exit);
  const isSuccess = exit.kind === "exited" && exit.code === 0;
  return create(ProcessEventSchema, {
    event: {
      case: "end",
      value: {
        exitCode: exit.kind === "exited" ? exit.code : -1,
        exited: exit.kind === "exited",
        status,
        ...(isSuccess ? {} : { error: status }),
      },
    },
  });
}
