import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { describeOnPlatform } from "../support/platform.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/remote-map.ts", import.meta.url));

describeOnPlatform("examples/remote-map.ts", ({ apiUrl, sandboxUrl, apiKey }) => {
  it("works through its 100 items in a few sandboxes and prints what they hold", async () => {
    const env = { ...process.env, AGENT_SANDBOX_API_URL: apiUrl, AGENT_SANDBOX_SANDBOX_URL: sandboxUrl, AGENT_SANDBOX_API_KEY: apiKey };
    const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE], { env });
    const facts = Object.fromEntries(
      stdout
        .trim()
        .split("\n")
        .map((line) => line.split(": ")),
    );
    expect(facts).toMatchObject({
      items: "100, days",
      "warmest day": "2014-08-11 with 35.6 °C",
      "wettest month": "November",
      high: "16.4 ± 7.3 °C",
    });
    expect(Number(facts.sandboxes)).toBeLessThanOrEqual(4);
  });
});
