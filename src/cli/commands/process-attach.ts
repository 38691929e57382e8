import { Sandbox } from "../../index.js";
import { exitStatusOf, signalOfEnding } from "../exit-signal.js";
import { watchEndingSignals } from "../local-signals.js";
import { writeErr, writeOut } from "../output.js";

/** `abx process attach`: the process does not belong to this program, so its end leaves the process running. */
export async function runProcessAttach(sandboxId: string, pid: number, outputClosed: AbortSignal): Promise<number> {
  const sandbox = await Sandbox.connect(sandboxId);
  const handle = await sandbox.commands.connect(pid, {
    timeoutMs: 0,
    format: "bytes",
    maxOutputBytes: 0,
    onStdout: writeOut,
    onStderr: writeErr,
    onGap: ({ missingBytes }) => writeErr(`abx: the connection broke and ${missingBytes ?? "some"} bytes of output are missing\n`),
  });
  const leave = (): void => void handle.disconnect();
  using signals = watchEndingSignals(leave);
  outputClosed.addEventListener("abort", leave);
  if (outputClosed.aborted) leave();
  try {
    const outcome = await handle.waitForOutcome();
    return exitStatusOf(outcome.exitCode, signalOfEnding(outcome.error));
  } catch (error) {
    if (signals.received !== undefined) return exitStatusOf(0, signals.received);
    if (outputClosed.aborted) return 0;
    throw error;
  }
}
