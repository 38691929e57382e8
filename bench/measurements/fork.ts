import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const ROUNDS = 3;

/** From `sandbox.fork()` of a sandbox that wrote 1 GB to the copy that answers. */
export const fork: Measurement = {
  name: "fork of 1 GB",
  async measure(startPlatform) {
    const { apiUrl, sandboxUrl, apiKey } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    await sandbox.commands.run("dd if=/dev/urandom of=big bs=1M count=1000 status=none; sync", { timeoutMs: 120_000 });
    const samples: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let copies: readonly unknown[] = [];
      samples.push(
        await timeMs(async () => {
          copies = await sandbox.fork();
        }),
      );
      for (const copy of copies) if (copy instanceof Sandbox) await copy.kill();
    }
    await sandbox.kill();
    return [{ key: "fork_1gb_ms", value: percentile(samples, 0.5), target: { atMost: 1000 } }];
  },
};
