import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const ROUNDS = 40;

/** From `Sandbox.create` to the output of the first command, with a warm pool. */
export const createWarm: Measurement = {
  name: "create from the warm pool",
  async measure(startPlatform) {
    const { untilLogged, ...platform } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "2" });
    await untilLogged("snapshot.built", 1);
    const samples: number[] = [];
    for (let round = 0; round <= ROUNDS; round += 1) {
      // Each round takes one entry out of a full pool, and waits until it is full again.
      await untilLogged("pool.filled", round + 1);
      let sandbox: Sandbox | undefined;
      const ms = await timeMs(async () => {
        sandbox = await Sandbox.create({ ...platform });
        await sandbox.commands.run("echo ready");
      });
      // The first round also loads the client's code.
      if (round > 0) samples.push(ms);
      await sandbox?.kill();
    }
    return [
      { key: "create_warm_ms.p50", value: percentile(samples, 0.5), target: { atMost: 30 } },
      { key: "create_warm_ms.p99", value: percentile(samples, 0.99), target: { atMost: 100 } },
    ];
  },
};
