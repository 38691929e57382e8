import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const ROUNDS = 20;

/** `sandbox.pause()`, and `sandbox.connect()` until a running sandbox is answered again, both with its memory. */
export const pauseResume: Measurement = {
  name: "pause and resume",
  async measure(startPlatform) {
    const { apiUrl, sandboxUrl, apiKey } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    await sandbox.commands.start("while :; do date > last; sleep 0.01; done");
    const pauses: number[] = [];
    const resumes: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      const pauseMs = await timeMs(() => sandbox.pause());
      const resumeMs = await timeMs(() => sandbox.connect());
      // The first round also compiles what the others use.
      if (round > 0) {
        pauses.push(pauseMs);
        resumes.push(resumeMs);
      }
    }
    await sandbox.kill();
    return [
      { key: "pause_ms.p50", value: percentile(pauses, 0.5), target: { atMost: 30 } },
      { key: "resume_ms.p50", value: percentile(resumes, 0.5), target: { atMost: 30 } },
    ];
  },
};
