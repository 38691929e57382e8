import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { pssMibOf } from "../pss.js";
import { percentile } from "../timing.js";

const SANDBOXES = 5;
const SETTLE_MS = 3_000;

/** Proportional set size of every process of an idle sandbox, seen from the host. */
export const idleMemory: Measurement = {
  name: "memory of idle sandboxes",
  async measure(startPlatform) {
    const platform = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandboxes: Sandbox[] = [];
    for (let count = 0; count < SANDBOXES; count += 1) sandboxes.push(await Sandbox.create({ ...platform }));
    await sleep(SETTLE_MS);
    const samples = await Promise.all(sandboxes.map((sandbox) => pssMibOf([sandbox.sandboxId])));
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
    return [{ key: "idle_pss_mib", value: percentile(samples, 0.5), target: { atMost: 45 } }];
  },
};
