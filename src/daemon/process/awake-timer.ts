/** Longest time between two looks at the clock, which is also the most that one pause of the sandbox takes off a limit. */
const STEP_MS = 1_000;

/**
 * Run `action` once after `delayMs` in which this process could run. A sandbox that stood still in between goes on where it stood, and so do
 * its time limits: the clocks of the kernel go on meanwhile, so a step that took far longer than it should counts as a short one.
 *
 * Takes delays above 2^31 ms too. It does not keep the process alive. Returns what cancels it.
 */
export function startAwakeTimer(delayMs: number, action: () => void): () => void {
  let leftMs = delayMs;
  let timer: NodeJS.Timeout;
  const arm = () => {
    const stepMs = Math.min(leftMs, STEP_MS);
    const beganAt = performance.now();
    timer = setTimeout(() => {
      leftMs -= Math.max(stepMs, Math.min(performance.now() - beganAt, stepMs + STEP_MS));
      if (leftMs > 0) arm();
      else action();
    }, stepMs);
    timer.unref();
  };
  arm();
  return () => clearTimeout(timer);
}
