import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startLongTimer } from "../../src/shared/long-timer.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("LIF-03: a delay above 2^31 ms is waited for in full, and cancelling twice is fine", () => {
  const days60 = 60 * 86_400_000;
  const onEnd = vi.fn();
  startLongTimer(days60, onEnd);
  vi.advanceTimersByTime(days60 - 1);
  expect(onEnd).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onEnd).toHaveBeenCalledOnce();
  const stop = startLongTimer(10, onEnd);
  stop();
  stop();
  vi.advanceTimersByTime(100);
  expect(onEnd).toHaveBeenCalledOnce();
});

it("LIF-03: a clock that is set moves no timer, however long it is", () => {
  const days60 = 60 * 86_400_000;
  const onEnd = vi.fn();
  startLongTimer(days60, onEnd);
  vi.setSystemTime(Date.now() - days60);
  vi.advanceTimersByTime(days60 - 1);
  vi.setSystemTime(Date.now() + days60);
  expect(onEnd).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(onEnd).toHaveBeenCalledOnce();
});
