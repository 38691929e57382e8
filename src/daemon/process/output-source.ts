import { readSync } from "node:fs";
import { type OnReadOpts, Socket } from "node:net";
import { ReadStream } from "node:tty";
import type { OutputKind } from "./output-cursor.js";

const DRAIN_LIMIT_BYTES = 1024 * 1024;

/** Where the bytes of a source go. */
export interface OutputSink {
  onOutput(kind: OutputKind, bytes: Uint8Array): void;
  /** Once, after the last output. */
  onOutputEnd(): void;
}

/** One end of a pipe or terminal that a process writes to. */
export interface OutputSource {
  pause(): void;
  resume(): void;
  /** Read what the kernel holds at this moment and end, without waiting for writers that are still there. */
  finishNow(): void;
}

/**
 * Read a pipe until every writer closed it. `readBuffer` is scratch space: each read is handed on before the next one begins, so all
 * sources of a daemon share it.
 */
export function openPipeSource(fd: number, kind: OutputKind, sink: OutputSink, readBuffer: Buffer): OutputSource {
  const { onread, attach } = createReader(fd, kind, sink, readBuffer);
  return attach(new Socket({ fd, readable: true, writable: false, onread }));
}

/** Read a terminal's controlling side until the kernel reports that the other side is closed (EIO). */
export function openTerminalSource(fd: number, sink: OutputSink, readBuffer: Buffer): OutputSource {
  const { onread, attach } = createReader(fd, "pty", sink, readBuffer);
  return attach(new ReadStream(fd, { onread }));
}

function createReader(fd: number, kind: OutputKind, sink: OutputSink, readBuffer: Buffer) {
  let isEnded = false;
  const end = () => {
    if (isEnded) return;
    isEnded = true;
    sink.onOutputEnd();
  };
  const onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (size, buffer) => {
      if (!isEnded) sink.onOutput(kind, buffer.subarray(0, size));
      return true;
    },
  };
  const attach = (socket: Socket): OutputSource => {
    // EIO is how a terminal ends; any other failure ends the source too, and `close` follows.
    socket.on("error", () => {});
    socket.once("end", end);
    socket.once("close", end);
    socket.resume();
    return {
      pause: () => void (isEnded || socket.pause()),
      resume: () => void (isEnded || socket.resume()),
      finishNow: () => {
        if (isEnded) return;
        socket.pause();
        if (!socket.destroyed) drain(fd, readBuffer, (bytes) => sink.onOutput(kind, bytes));
        socket.destroy();
        end();
      },
    };
  };
  return { onread, attach };
}

/** The descriptor does not block, so the first empty read (EAGAIN), EOF or EIO ends this; a writer that never stops is cut off. */
function drain(fd: number, readBuffer: Buffer, onBytes: (bytes: Uint8Array) => void): void {
  try {
    for (let total = 0; total < DRAIN_LIMIT_BYTES; ) {
      const size = readSync(fd, readBuffer);
      if (size === 0) return;
      onBytes(readBuffer.subarray(0, size));
      total += size;
    }
  } catch {
    // Nothing left to read.
  }
}
