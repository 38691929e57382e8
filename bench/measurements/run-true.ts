import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const WARM_UP_ROUNDS = 20;
const ROUNDS = 200;

/** Round trip of the shortest command through edge and daemon. */
export const runTrue: Measurement = {
  name: "commands.run",
  async measure(startPlatform) {
    const sandbox = await Sandbox.create({ ...(await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" })) });
    const samples: number[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      const ms = await timeMs(() => sandbox.commands.run("true"));
      if (round >= WARM_UP_ROUNDS) samples.push(ms);
    }
    await sandbox.kill();
    return [
      { key: "run_true_ms.p50", value: percentile(samples, 0.5), target: { atMost: 6 } },
      { key: "run_true_ms.p99", value: percentile(samples, 0.99) },
    ];
  },
};
