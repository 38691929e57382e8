import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { InstanceUsage } from "../driver.js";
import type { CgroupLayout } from "./cgroups.js";

/** Read the counters of a cgroup; `undefined` when it does not exist. A controller that this machine lacks counts as 0. */
export function readCgroupUsage({ mode, hierarchies }: CgroupLayout, path: string): Omit<InstanceUsage, "diskBytes"> | undefined {
  if (mode === "v2") {
    const read = (name: string) => readText(join(String(hierarchies[0]), path, name));
    const cpu = read("cpu.stat");
    if (cpu === undefined) return undefined;
    const cacheBytes = field(read("memory.stat"), "file");
    return {
      cpuSeconds: field(cpu, "usage_usec") / 1e6,
      memoryBytes: Math.max(0, toNumber(read("memory.current")) - cacheBytes),
      cacheBytes,
      oomKills: field(read("memory.events"), "oom_kill"),
    };
  }
  const read = (controller: string, name: string) => {
    const hierarchy = hierarchies.find((directory) => directory.split("/").at(-1)?.split(",").includes(controller));
    return hierarchy === undefined ? undefined : readText(join(hierarchy, path, name));
  };
  const cpu = read("cpuacct", "cpuacct.usage");
  const memory = read("memory", "memory.usage_in_bytes");
  if (cpu === undefined && memory === undefined) return undefined;
  const cacheBytes = field(read("memory", "memory.stat"), "total_cache");
  return {
    cpuSeconds: toNumber(cpu) / 1e9,
    memoryBytes: Math.max(0, toNumber(memory) - cacheBytes),
    cacheBytes,
    oomKills: field(read("memory", "memory.oom_control"), "oom_kill"),
  };
}

function field(text: string | undefined, name: string): number {
  return toNumber(new RegExp(`^${name} (\\d+)$`, "m").exec(text ?? "")?.[1]);
}

function toNumber(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isFinite(value) ? value : 0;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return undefined;
  }
}
