import { fileURLToPath } from "node:url";
import { isMainThread, Worker } from "node:worker_threads";
import { answerCells } from "./cell-runner.js";
import { watchInterrupts } from "./interrupts.js";

// node node-kernel.mjs <language> <fd of commands> <fd of reports> <fd of interrupts>
const [, , language, commandsFd, reportsFd, interruptsFd] = process.argv;
if (isMainThread) {
  // Everyone in the process group gets SIGINT; what has to stop is told through a descriptor.
  process.on("SIGINT", () => {});
  const acknowledged = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(fileURLToPath(import.meta.url), { argv: process.argv.slice(2), workerData: acknowledged, stdout: false });
  worker.unref();
  answerCells({ isTypeScript: language === "typescript", commandsFd: Number(commandsFd), reportsFd: Number(reportsFd) }, (onInterrupt) => {
    worker.on("message", () => {
      Atomics.add(acknowledged, 0, 1);
      Atomics.notify(acknowledged, 0);
      onInterrupt();
    });
  });
} else {
  watchInterrupts(Number(interruptsFd));
}
