import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { pssMibOf } from "../pss.js";

const SANDBOXES = 200;
const AT_ONCE = 20;
const SETTLE_MS = 3_000;

/** Memory of 200 idle sandboxes together. */
export const manySandboxes: Measurement = {
  name: "memory of 200 sandboxes",
  async measure(startPlatform) {
    const { apiUrl, sandboxUrl, apiKey } = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandboxes: Sandbox[] = [];
    while (sandboxes.length < SANDBOXES) {
      const batch = Array.from({ length: AT_ONCE }, () => Sandbox.create({ apiUrl, sandboxUrl, apiKey, timeoutMs: 600_000 }));
      sandboxes.push(...(await Promise.all(batch)));
    }
    await sleep(SETTLE_MS);
    const total = await pssMibOf(sandboxes.map(({ sandboxId }) => sandboxId));
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
    return [{ key: "sandboxes_200_pss_mib", value: total, target: { atMost: 9000 } }];
  },
};
