import { readdir, readFile } from "node:fs/promises";

const KIB_PER_MIB = 1024;

/** Proportional set size of every process of these sandboxes together, seen from the host. */
export async function pssMibOf(sandboxIds: readonly string[]): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const sizes = await Promise.all(pids.map((pid) => pssKibIfInside(pid, sandboxIds)));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) throw new Error(`no process of the sandboxes can be seen; run the benchmark as root`);
  return total / KIB_PER_MIB;
}

async function pssKibIfInside(pid: string, sandboxIds: readonly string[]): Promise<number> {
  try {
    const cgroups = await readFile(`/proc/${pid}/cgroup`, "utf8");
    if (!sandboxIds.some((id) => cgroups.includes(id))) return 0;
    return Number(/^Pss:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0);
  } catch {
    // The process ended meanwhile.
    return 0;
  }
}
