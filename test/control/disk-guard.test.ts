import { expect, it } from "vitest";
import { startTestControl } from "./support/test-control.js";

it("when the machine's disk is nearly full, the sandbox that wrote most is ended and an event says why", async () => {
  const control = await startTestControl({ minFreeBytes: Number.MAX_SAFE_INTEGER });
  try {
    const sandbox = await control.create();
    await expect.poll(async () => (await control.api("GET", `/sandboxes/${sandbox.sandboxID}`)).status, { timeout: 15_000 }).toBe(404);
    const events = await control.api("GET", "/sandboxes/events", undefined, { "last-event-id": "0" });
    let told = "";
    for await (const chunk of events.body ?? []) {
      told += new TextDecoder().decode(chunk as Uint8Array);
      if (told.includes("disk_full")) break;
    }
    expect(told).toContain(sandbox.sandboxID);
    expect(control.log.join("")).toContain("disk.low");
  } finally {
    await control.stop();
  }
});
