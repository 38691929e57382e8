import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { startAwakeTimer } from "../../src/daemon/process/awake-timer.js";

let nowMs = 0;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Time in which the process runs, in steps as small as timers need. */
function run(ms: number): void {
  for (let step = 0; step < ms; step += 100) {
    nowMs += 100;
    vi.advanceTimersByTime(100);
  }
}

/** Time in which it stands still: the clock goes on, no timer fires. */
function freeze(ms: number): void {
  nowMs += ms;
}

it("counts the time in which the process runs, and of a pause no more than a second", () => {
  const action = vi.fn();
  startAwakeTimer(60_000, action);
  run(10_500);
  freeze(8 * 3_600_000);
  run(47_000);
  expect(action).not.toHaveBeenCalled();
  run(3_000);
  expect(action).toHaveBeenCalledOnce();
});

it("is exact without a pause, waits longer than a timer of Node can, and can be cancelled", () => {
  const action = vi.fn();
  startAwakeTimer(2_500, action);
  run(2_400);
  expect(action).not.toHaveBeenCalled();
  run(100);
  expect(action).toHaveBeenCalledOnce();
  const cancel = startAwakeTimer(2 ** 31 + 1_000, action);
  run(10_000);
  expect(action).toHaveBeenCalledOnce();
  cancel();
  cancel();
  expect(vi.getTimerCount()).toBe(0);
});
