import { expect, it } from "vitest";
import { measureEntry } from "../../bench/entry-size.js";

it("a page loads less than half of what it loads of e2b before the first call, and no more with everything that calls load", async () => {
  const [ours, theirs] = [await measureEntry("@agent-sandbox/sdk"), await measureEntry("e2b")];
  expect(ours.loadedBytes / theirs.loadedBytes).toBeLessThan(0.45);
  expect(ours.wholeBytes / theirs.wholeBytes).toBeLessThan(1);
});
