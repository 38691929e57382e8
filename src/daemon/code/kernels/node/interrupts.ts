import { readSync } from "node:fs";
import { Session } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";

/** How long the main thread may take to answer until it counts as stuck in a loop. */
const ANSWER_MS = 100;

/**
 * Runs in a thread of its own, which an endless loop in the main thread does not hold up. A byte on `fd` is an interrupt: the main thread is
 * told, and when it does not even take the message, what it runs is ended by V8.
 */
export function watchInterrupts(fd: number): void {
  const acknowledged = workerData as Int32Array; // the main thread gives nothing else
  const session = new Session();
  session.connectToMainThread();
  const byte = new Uint8Array(1);
  while (readSync(fd, byte) === 1) {
    const before = Atomics.load(acknowledged, 0);
    parentPort?.postMessage("interrupt");
    while (Atomics.wait(acknowledged, 0, before, ANSWER_MS) === "timed-out") session.post("Runtime.terminateExecution");
  }
}
