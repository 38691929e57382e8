import { expect, it } from "vitest";
import { ConnectionError } from "../../src/errors/error-classes.js";
import { latePart, loadPart } from "../../src/shared/load-part.js";

it("a part that cannot be had is a ConnectionError that says what it is for, and the next call tries again", async () => {
  const cause = new TypeError("Failed to fetch dynamically imported module");
  let isOffline = true;
  let loads = 0;
  const part = latePart("does this", async () => {
    loads += 1;
    if (isOffline) throw cause;
    return { name: "part" };
  });
  const failed = part(undefined);
  await expect(failed).rejects.toBeInstanceOf(ConnectionError);
  await expect(failed).rejects.toMatchObject({ message: "the part of this package that does this cannot be loaded", cause });
  isOffline = false;
  const [first, second] = await Promise.all([part(undefined), part(undefined)]);
  expect(first).toEqual({ name: "part" });
  expect(second).toBe(first);
  expect(await part(undefined)).toBe(first);
  expect(loads).toBe(2);
});

it("an abort ends the waiting of its caller with its reason, and of nobody else", async () => {
  let resolve: (value: string) => void = () => undefined;
  const loading = new Promise<string>((done) => {
    resolve = done;
  });
  const part = latePart("does this", () => loading);
  const controller = new AbortController();
  const aborted = part(controller.signal);
  const other = part(undefined);
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(aborted).rejects.toBe(reason);
  await expect(loadPart("does this", loading, controller.signal)).rejects.toBe(reason);
  resolve("loaded");
  expect(await other).toBe("loaded");
});

it("a part that fails after its caller left troubles nobody", async () => {
  let reject: (error: Error) => void = () => undefined;
  const loading = new Promise<string>((_, fail) => {
    reject = fail;
  });
  const left = loadPart("does this", loading, AbortSignal.abort(new Error("gone")));
  await expect(left).rejects.toThrow("gone");
  reject(new Error("late"));
  // An unhandled rejection would fail the run.
  await new Promise((resolve) => setImmediate(resolve));
});
