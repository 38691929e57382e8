import { readdir, readFile } from "node:fs/promises";

const KIB_PER_MIB = 1024;
const SAMPLE_MS = 20;

/** Host pid of the daemon of a sandbox. @throws the daemon cannot be seen, which takes root. */
export async function daemonPid(sandboxId: string): Promise<number> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [cgroups, command] = await Promise.all(
      ["cgroup", "cmdline"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8").catch(() => "")),
    );
    if (cgroups?.includes(sandboxId) && /^[^\0]*node\0/.test(command ?? "") && command?.includes("daemon.mjs")) return Number(pid);
  }
  throw new Error(`the daemon of sandbox ${sandboxId} cannot be seen; run the benchmark as root`);
}

/** Resident memory of a process, MiB. */
export async function rssMib(pid: number | "self"): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) / KIB_PER_MIB;
}

/** The most memory that each process had during `action` over what it had before, MiB. */
export async function memoryGrowth(pids: readonly (number | "self")[], action: () => Promise<unknown>): Promise<number[]> {
  const before = await Promise.all(pids.map(rssMib));
  const highest = [...before];
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      for (const [index, now] of (await Promise.all(pids.map(rssMib))).entries()) highest[index] = Math.max(highest[index] ?? 0, now);
      await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    }
  })();
  try {
    await action();
  } finally {
    isOver = true;
    await sampling;
  }
  return highest.map((value, index) => value - (before[index] ?? 0));
}
