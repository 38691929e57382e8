import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SILENCE_MS, SilenceWatch } from "../../src/protocol/stream-life.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openWatch() {
  const reasons: unknown[] = [];
  const stream = { first: undefined, rest: (async function* () {})(), cancel: (reason: unknown) => void reasons.push(reason) };
  return { reasons, watch: new SilenceWatch(stream, () => "silence") };
}

it("a stream from which nothing comes while somebody waits for it is given up, and not a moment too early", () => {
  const { reasons, watch } = openWatch();
  vi.advanceTimersByTime(SILENCE_MS - 1);
  expect(reasons).toEqual([]);
  vi.advanceTimersByTime(SILENCE_MS / 4);
  expect(reasons[0]).toBe("silence");
  watch[Symbol.dispose]();
});

it("a clock that is set forward ends nothing, and one that is set back keeps nothing alive", () => {
  const { reasons, watch } = openWatch();
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(SILENCE_MS - 1);
  expect(reasons).toEqual([]);
  vi.setSystemTime(Date.now() - 7_200_000);
  vi.advanceTimersByTime(SILENCE_MS / 4);
  expect(reasons[0]).toBe("silence");
  watch[Symbol.dispose]();
});

it("each message begins the time anew, and a reader may take as long as it likes", () => {
  const { reasons, watch } = openWatch();
  for (let message = 0; message < 5; message += 1) {
    vi.advanceTimersByTime(SILENCE_MS * 0.9);
    watch.busy();
    vi.advanceTimersByTime(SILENCE_MS * 10);
    watch.waiting();
  }
  expect(reasons).toEqual([]);
  watch[Symbol.dispose]();
  vi.advanceTimersByTime(SILENCE_MS * 10);
  expect(reasons).toEqual([]);
});
