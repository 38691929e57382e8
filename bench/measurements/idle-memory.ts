import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Sandbox } from "@agent-sandbox/sdk";
import type { Measurement } from "../measurement.js";
import { percentile } from "../timing.js";

const SANDBOXES = 5;
const SETTLE_MS = 3_000;
const KIB_PER_MIB = 1024;

/** Proportional set size of every process of an idle sandbox, seen from the host. */
export const idleMemory: Measurement = {
  name: "memory of idle sandboxes",
  async measure(startPlatform) {
    const platform = await startPlatform({ AGENT_SANDBOX_POOL_SIZE: "0" });
    const sandboxes: Sandbox[] = [];
    for (let count = 0; count < SANDBOXES; count += 1) sandboxes.push(await Sandbox.create({ ...platform }));
    await sleep(SETTLE_MS);
    const samples = await Promise.all(sandboxes.map((sandbox) => pssMib(sandbox.sandboxId)));
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
    return [{ key: "idle_pss_mib", value: percentile(samples, 0.5), target: { atMost: 45 } }];
  },
};

async function pssMib(sandboxId: string): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const sizes = await Promise.all(pids.map((pid) => pssKibIfInside(pid, sandboxId)));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) throw new Error(`no process of sandbox ${sandboxId} can be seen; run the benchmark as root`);
  return total / KIB_PER_MIB;
}

async function pssKibIfInside(pid: string, sandboxId: string): Promise<number> {
  try {
    const cgroups = await readFile(`/proc/${pid}/cgroup`, "utf8");
    if (!cgroups.includes(sandboxId)) return 0;
    return Number(/^Pss:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    // The process ended meanwhile.
    return 0;
  }
}
