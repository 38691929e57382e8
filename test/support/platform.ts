import { describe, inject, type SuiteFactory } from "vitest";
import type { PlatformContext } from "./platform-context.js";

/**
 * A suite that needs the local platform. Where the machine has none, the suite is skipped and its title says why.
 */
export function describeOnPlatform(title: string, suite: (platform: PlatformContext & { isAvailable: true }) => void): void {
  const platform = inject("platform");
  if (platform.isAvailable) {
    describe(title, (() => suite(platform)) satisfies SuiteFactory);
  } else {
    describe.skip(`${title} (skipped: ${platform.reason})`, () => undefined);
  }
}
