import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { CODE_TEMPLATE_TIMEOUT_MS, prepareCodeTemplate } from "../support/code-template.js";
import { describeOnPlatform } from "../support/platform.js";
import { platformEnv } from "../support/run-abx.js";

const EXAMPLE = fileURLToPath(new URL("../../examples/data-analysis.ts", import.meta.url));

describeOnPlatform("examples/data-analysis.ts", (platform) => {
  beforeAll(prepareCodeTemplate, CODE_TEMPLATE_TIMEOUT_MS);

  it("finds the wettest year and saves its chart as an image", async () => {
    const directory = await mkdtemp(join(tmpdir(), "data-analysis-"));
    try {
      const image = join(directory, "chart.png");
      const env = { ...process.env, ...platformEnv(platform) };
      const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", EXAMPLE, image], { env });
      expect(stdout).toContain("1461 days from 01.01.2012 to 31.12.2015");
      expect(stdout).toMatch(/the wettest year was 2014 with 1232\.8 mm/);
      expect(stdout).toContain("Weather in Seattle: mean high, mean low in °C");
      const png = await readFile(image);
      expect(png.subarray(1, 4).toString()).toBe("PNG");
      expect(png.length).toBeGreaterThan(20_000);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
