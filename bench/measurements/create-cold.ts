import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const ROUNDS = 20;

/** From `Sandbox.create` to the output of the first command, without a pool. */
export const createCold: Measurement = {
  name: "create without a pool",
  async measure(startPlatform) {
    const { untilLogged, ...platform } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    await untilLogged("snapshot.built", 1);
    const samples: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      let sandbox: Sandbox | undefined;
      const ms = await timeMs(async () => {
        sandbox = await Sandbox.create({ ...platform });
        await sandbox.commands.run("echo ready");
      });
      // The first round also loads the client's code.
      if (round > 0) samples.push(ms);
      await sandbox?.kill();
    }
    return [{ key: "create_cold_ms.p50", value: percentile(samples, 0.5), target: { atMost: 200 } }];
  },
};
