import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const ROUNDS = 3;

/** A snapshot of a running sandbox that wrote 100 MB. */
export const snapshot: Measurement = {
  name: "snapshot of 100 MB",
  async measure(startPlatform) {
    const { apiUrl, sandboxUrl, apiKey } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const connection = { apiUrl, sandboxUrl, apiKey };
    const sandbox = await Sandbox.create(connection);
    await sandbox.commands.run("dd if=/dev/urandom of=big bs=1M count=100 status=none; sync");
    const samples: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let id = "";
      samples.push(
        await timeMs(async () => {
          id = (await sandbox.createSnapshot()).snapshotId;
        }),
      );
      await Sandbox.deleteSnapshot(id, connection);
    }
    await sandbox.kill();
    return [{ key: "snapshot_100mb_ms", value: percentile(samples, 0.5), target: { atMost: 500 } }];
  },
};
