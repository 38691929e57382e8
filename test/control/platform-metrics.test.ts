import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

describe("the numbers of the platform", () => {
  let control: TestControl;
  beforeAll(async () => {
    control = await startTestControl();
  });
  afterAll(() => control.stop());

  it("count what runs, for whoever has the key and nobody else", async () => {
    const numbers = async () => {
      const response = await control.api("GET", "/agentsandbox/metrics");
      expect(response.headers.get("cache-control")).toBe("no-store");
      return (await response.json()) as object;
    };
    const empty = { sandboxes: { running: 0, starting: 0 }, pool: { ready: 0 }, telemetry: { isExporting: false, droppedSpans: 0 } };
    expect(await numbers()).toEqual({ ...empty, uptimeMs: expect.any(Number), memoryBytes: expect.any(Number) });
    await control.create();
    expect(await numbers()).toMatchObject({ sandboxes: { running: 1, starting: 0 } });

    const strangers: Record<string, string>[] = [{}, { "x-api-key": "e2b_0000000000000000000000000000000000000000" }];
    for (const headers of strangers) {
      expect((await fetch(new URL("/agentsandbox/metrics", control.url), { headers })).status).toBe(401);
    }
  });
});
