import { Sandbox, SandboxError } from "../index.js";
import { pause } from "../shared/pause.js";
import { EXIT } from "./exit-code.js";
import { exitStatusOf } from "./exit-signal.js";
import { watchEndingSignals } from "./local-signals.js";

/** Milliseconds between two looks. */
const INTERVAL_MS = 500;

/**
 * Look at a sandbox again and again until it ends, this process is interrupted, or nobody reads any more.
 *
 * `isOver` is asked before each look, so that the last one sees what happened until the end; what is gone with the sandbox is then no failure.
 */
export async function followUntilEnd(
  sandboxId: string,
  outputClosed: AbortSignal,
  look: (signal: AbortSignal) => Promise<void>,
): Promise<number> {
  const ending = new AbortController();
  using signals = watchEndingSignals(() => ending.abort());
  const signal = AbortSignal.any([ending.signal, outputClosed]);
  try {
    // The first look tells an unknown sandbox.
    await look(signal);
    for (;;) {
      await pause(INTERVAL_MS, signal);
      const isOver = await hasEnded(sandboxId, signal);
      await look(signal).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
      if (isOver) return EXIT.ok;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return signals.received === undefined ? EXIT.ok : exitStatusOf(0, signals.received);
  }
}

async function hasEnded(sandboxId: string, signal: AbortSignal): Promise<boolean> {
  try {
    await Sandbox.getInfo(sandboxId, { signal });
    return false;
  } catch (error) {
    if (isNotFound(error)) return true;
    throw error;
  }
}

function isNotFound(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.reason === "sandbox_not_found";
}
