const MAX_DELAY_MS = 2_147_483_647;

/**
 * Run `action` once after `delayMs`, also when that is above the 2^31 milliseconds at which a timer of Node fires at once.
 * It does not keep the process alive. Returns what cancels it.
 */
export function startLongTimer(delayMs: number, action: () => void): () => void {
  const endsAt = performance.now() + delayMs;
  let timer: NodeJS.Timeout;
  const arm = () => {
    const leftMs = Math.max(0, endsAt - performance.now());
    timer = setTimeout(leftMs > MAX_DELAY_MS ? arm : action, Math.min(leftMs, MAX_DELAY_MS));
    timer.unref();
  };
  arm();
  return () => clearTimeout(timer);
}
