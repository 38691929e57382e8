import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DeadlineQueue } from "../../src/control/deadline-queue.js";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const DAY_MS = 86_400_000;

it("LIF-03: a deadline beyond 2^31 ms fires then and not before", () => {
  const due: string[] = [];
  const queue = new DeadlineQueue((key) => due.push(key));
  queue.set("far", new Date(Date.now() + 60 * DAY_MS));
  vi.advanceTimersByTime(60 * DAY_MS - 1);
  expect(due).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(due).toEqual(["far"]);
});

it("fires in order, once, and follows moved and removed deadlines", () => {
  const due: string[] = [];
  const queue = new DeadlineQueue((key) => due.push(key));
  const at = (ms: number) => new Date(Date.now() + ms);
  queue.set("b", at(200));
  queue.set("a", at(100));
  queue.set("c", at(300));
  queue.set("moved", at(50));
  queue.set("moved", at(400));
  queue.delete("c");
  queue.set("past", at(-5));
  vi.advanceTimersByTime(1_000);
  expect(due).toEqual(["past", "a", "b", "moved"]);
});

it("a clock that was put forward, or a machine that slept, delays a deadline by half a minute at most", () => {
  const due: string[] = [];
  const queue = new DeadlineQueue((key) => due.push(key));
  queue.set("soon", new Date(Date.now() + 3_600_000));
  vi.setSystemTime(Date.now() + 8 * 3_600_000);
  vi.advanceTimersByTime(30_000);
  expect(due).toEqual(["soon"]);
});

it("a clock that was put back ends nothing before its time", () => {
  const due: string[] = [];
  const queue = new DeadlineQueue((key) => due.push(key));
  queue.set("later", new Date(Date.now() + 60_000));
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(3_600_000);
  expect(due).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(due).toEqual(["later"]);
});
