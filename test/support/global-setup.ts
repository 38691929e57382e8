import type { TestProject } from "vitest/node";
import { startTestPlatform } from "./test-platform.js";

/** One platform for the whole run, in directories of its own; at the end it is stopped and nothing of it may be left. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = await startTestPlatform({ AGENT_SANDBOX_CHECK_ANSWERS: "1" });
  if (!started.context.isAvailable) {
    process.stderr.write(`\nTests that need the local platform are skipped: ${started.context.reason}\n`);
  }
  project.provide("platform", started.context);
  return started.stop;
}
