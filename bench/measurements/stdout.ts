import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { daemonPid, memoryGrowth } from "../process-memory.js";
import { percentile, timeMs } from "../timing.js";

const SIZE_BYTES = 1024 ** 3;
const WARM_UP_BYTES = 64 * 1024 ** 2;
const ROUNDS = 3;
const BYTES_PER_MB = 1_000_000;

/** Standard output of 1 GiB, as bytes and kept by nobody, with the memory that it costs at both ends. */
export const stdout: Measurement = {
  name: "stdout",
  async measure(startPlatform) {
    const sandbox = await Sandbox.create({ ...(await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" })), timeoutMs: 900_000 });
    const pids = ["self", await daemonPid(sandbox.sandboxId)] as const;
    await print(sandbox, WARM_UP_BYTES);
    const samples: number[] = [];
    const growth: number[][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      growth.push(await memoryGrowth(pids, async () => void samples.push(await timeMs(() => print(sandbox, SIZE_BYTES)))));
    }
    await sandbox.kill();
    const worst = (side: number) => Math.max(...growth.map((sides) => sides[side] ?? 0));
    return [
      { key: "stdout_mb_s", value: SIZE_BYTES / BYTES_PER_MB / (percentile(samples, 0.5) / 1000), target: { atLeast: 120 } },
      { key: "stdout_rss_growth_mib.client", value: worst(0), target: { atMost: 32 } },
      { key: "stdout_rss_growth_mib.daemon", value: worst(1), target: { atMost: 32 } },
    ];
  },
};

async function print(sandbox: Sandbox, sizeBytes: number): Promise<void> {
  let received = 0;
  const handle = await sandbox.commands.start(`head -c ${sizeBytes} /dev/zero`, {
    timeoutMs: 0,
    format: "bytes",
    maxOutputBytes: 0,
    onStdout: (bytes) => {
      received += bytes.length;
    },
  });
  await handle.wait();
  if (received !== sizeBytes) throw new Error(`${received} of ${sizeBytes} bytes arrived`);
}
