import { readFile, statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

const CPU_SAMPLE_MS = 100;
const MIB = 1024 * 1024;

/** Answer of `GET /metrics`; sizes in bytes unless the name says otherwise. */
export interface SandboxMetrics {
  /** Seconds since 1970. */
  readonly ts: number;
  readonly cpu_count: number;
  /** 0 to 100, two decimals. */
  readonly cpu_used_pct: number;
  readonly mem_total: number;
  readonly mem_used: number;
  readonly mem_cache: number;
  readonly mem_total_mib: number;
  readonly mem_used_mib: number;
  readonly disk_used: number;
  readonly disk_total: number;
}

/** Measure the sandbox: its cgroup where it sees it, else the machine. Takes a tenth of a second for the processor's share. */
export async function measure(): Promise<SandboxMetrics> {
  const cpuCount = await readCpuCount();
  const before = await readCpuSeconds();
  const startedAt = performance.now();
  await delay(CPU_SAMPLE_MS);
  const after = await readCpuSeconds();
  const wallSeconds = (performance.now() - startedAt) / 1000;
  const share = ((after - before) / (wallSeconds * cpuCount)) * 100;
  const memory = await readMemory();
  const disk = await statfs("/");
  return {
    ts: Math.floor(Date.now() / 1000),
    cpu_count: Math.max(1, Math.ceil(cpuCount)),
    cpu_used_pct: Math.round(Math.min(100, Math.max(0, share)) * 100) / 100,
    mem_total: memory.total,
    mem_used: memory.used,
    mem_cache: memory.cache,
    mem_total_mib: Math.floor(memory.total / MIB),
    mem_used_mib: Math.floor(memory.used / MIB),
    disk_used: (disk.blocks - disk.bfree) * disk.bsize,
    disk_total: disk.blocks * disk.bsize,
  };
}

/** Processors that the sandbox may use, perhaps a fraction. */
export async function readCpuCount(): Promise<number> {
  const [quota, period] = ((await readText("/sys/fs/cgroup/cpu.max")) ?? "").trim().split(" ").map(Number);
  if (quota && period) return quota / period;
  const quotaV1 = Number(await readText("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const periodV1 = Number(await readText("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  return quotaV1 > 0 && periodV1 > 0 ? quotaV1 / periodV1 : availableParallelism();
}

async function readCpuSeconds(): Promise<number> {
  const usage = /^usage_usec (\d+)/m.exec((await readText("/sys/fs/cgroup/cpu.stat")) ?? "")?.[1];
  if (usage !== undefined) return Number(usage) / 1e6;
  const usageV1 = await readText("/sys/fs/cgroup/cpuacct/cpuacct.usage");
  if (usageV1 !== undefined) return Number(usageV1) / 1e9;
  // user, nice, system, idle, iowait, irq, softirq, steal in hundredths of a second (proc_stat(5)).
  const ticks = ((await readText("/proc/stat")) ?? "").split("\n", 1)[0]?.trim().split(/\s+/).slice(1, 9).map(Number) ?? [];
  return (ticks.reduce((sum, value) => sum + value, 0) - (ticks[3] ?? 0) - (ticks[4] ?? 0)) / 100;
}

/** Memory of the sandbox in bytes, `used` without the cache. */
export async function readMemory(): Promise<{ readonly total: number; readonly used: number; readonly cache: number }> {
  const info = (await readText("/proc/meminfo")) ?? "";
  const field = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(info)?.[1] ?? 0) * 1024;
  const machineTotal = field("MemTotal");
  for (const [limitFile, usageFile, cacheName] of [
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "file"],
    ["/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "total_cache"],
  ] as const) {
    const limit = Number(await readText(limitFile));
    const usage = Number(await readText(usageFile));
    if (!(limit > 0 && limit <= machineTotal && usage > 0)) continue;
    const stat = (await readText(limitFile.replace(/memory\.(max|limit_in_bytes)$/, "memory.stat"))) ?? "";
    const cache = Number(new RegExp(`^${cacheName} (\\d+)`, "m").exec(stat)?.[1] ?? 0);
    return { total: limit, used: Math.max(0, usage - cache), cache };
  }
  return { total: machineTotal, used: Math.max(0, machineTotal - field("MemAvailable")), cache: field("Cached") };
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch {
    return undefined;
  }
}
