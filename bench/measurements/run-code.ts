import { Sandbox } from "@agent-sandbox/sdk/code-interpreter";
import { prepareCodeTemplate } from "../../test/support/code-template.js";
import type { Measurement } from "../measurement.js";
import { percentile, timeMs } from "../timing.js";

const CODE = "print('hello')";
const WARM_UP_ROUNDS = 10;
const ROUNDS = 200;

/** Code in the kernel that starts with its sandbox: the first execution once the kernel is there, and those that follow. */
export const runCode: Measurement = {
  name: "runCode",
  async measure(startPlatform) {
    await prepareCodeTemplate();
    const platform = await startPlatform();
    const sandbox = await Sandbox.create(platform);
    const headers = { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49999" };
    await (await fetch(`${platform.sandboxUrl}/health`, { headers })).text();
    const firstMs = await timeMs(() => sandbox.runCode(CODE));
    const samples: number[] = [];
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      const ms = await timeMs(() => sandbox.runCode(CODE));
      if (round >= WARM_UP_ROUNDS) samples.push(ms);
    }
    await sandbox.kill();
    return [
      { key: "run_code_first_ms", value: firstMs, target: { atMost: 500 } },
      { key: "run_code_ms.p50", value: percentile(samples, 0.5), target: { atMost: 15 } },
      { key: "run_code_ms.p99", value: percentile(samples, 0.99) },
    ];
  },
};
