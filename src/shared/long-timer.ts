/** The longest delay that a runtime's timer holds; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Call back after a delay of any length. The returned function cancels and may be called twice. */
export function startLongTimer(delayMs: number, onEnd: () => void): () => void {
  const endAt = performance.now() + delayMs;
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    const restMs = endAt - performance.now();
    timer = restMs > MAX_TIMER_MS ? setTimeout(arm, MAX_TIMER_MS) : setTimeout(onEnd, Math.max(0, restMs));
  };
  arm();
  return () => clearTimeout(timer);
}
