import { spawn } from "node:child_process";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { ROOT } from "../support/compile.js";
import { describeOnPlatform } from "../support/platform.js";

const PROGRAM = path.join(ROOT, "test/bundle/support/call-everything.mjs");

describeOnPlatform("with replaced classes of the web", ({ apiUrl, sandboxUrl, apiKey }) => {
  const cases = ["browser", "node"].flatMap((runtime) =>
    ["before", "after"].flatMap((when) => ["subclass", "polyfill"].map((how) => [runtime, when, how] as const)),
  );

  it.each(cases)("BUN-09: the client of %s works when they are replaced %s its import, by a %s", async (runtime, when, how) => {
    const child = spawn(process.execPath, [`--conditions=${runtime}`, PROGRAM, when, how, "@agent-sandbox/sdk"], {
      env: { PATH: process.env.PATH, TEST_API_URL: apiUrl, TEST_SANDBOX_URL: sandboxUrl, TEST_API_KEY: apiKey },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(stderr).toBe("");
    const [a, b, c, d, entries, out, ...rest] = JSON.parse(stdout) as unknown[];
    expect([a, b, c, d, out, ...rest]).toEqual(["text", "blob", "c", "stream", "out", "running", 1, true]);
    expect(entries).toBeGreaterThanOrEqual(4);
  });
});
