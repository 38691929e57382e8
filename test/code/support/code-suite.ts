import { afterAll, beforeAll, describe, expect } from "vitest";
import { Sandbox } from "../../../src/code-interpreter.js";
import { CODE_TEMPLATE_TIMEOUT_MS, prepareCodeTemplate } from "../../support/code-template.js";
import { describeOnPlatform } from "../../support/platform.js";
import type { PlatformContext } from "../../support/platform-context.js";

/** A sandbox that runs code, for the tests of a suite. */
export interface CodeSuite {
  readonly sandbox: Sandbox;
  readonly platform: PlatformContext & { isAvailable: true };
}

/** A suite with one sandbox of `code-interpreter-v1`, which is built when it is missing. */
export function describeCode(title: string, suite: (parts: CodeSuite) => void, envs: Readonly<Record<string, string>> = {}): void {
  describeOnPlatform(title, (platform) => {
    let sandbox: Sandbox | undefined;
    beforeAll(async () => {
      await prepareCodeTemplate();
      sandbox = await Sandbox.create({ ...connection(platform), timeoutMs: 600_000, envs });
    }, CODE_TEMPLATE_TIMEOUT_MS);
    afterAll(async () => {
      await sandbox?.kill();
    });
    describe("in a sandbox", () => {
      suite({
        platform,
        get sandbox() {
          expect(sandbox, "the sandbox was made").toBeDefined();
          return sandbox as Sandbox; // the line above
        },
      });
    });
  });
}

/** Options that lead to a platform. */
export function connection({ apiUrl, sandboxUrl, apiKey }: PlatformContext & { isAvailable: true }) {
  return { apiUrl, sandboxUrl, apiKey };
}
