import { readFileSync } from "node:fs";
import type { HostFacts } from "./bundle.js";
import type { CgroupLayout } from "./cgroups.js";

/** Read what this process may give to a sandbox. */
export function readHostFacts({ controllers, swapLimit }: CgroupLayout): HostFacts {
  return {
    hardOpenFiles: hardLimit("Max open files"),
    oomScoreAdj: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
    controllers,
    swapLimit,
  };
}

/** Third column of `/proc/self/limits` (proc(5)). */
function hardLimit(name: string): number {
  const line = readFileSync("/proc/self/limits", "utf8")
    .split("\n")
    .find((text) => text.startsWith(name));
  const hard = line?.slice(name.length).trim().split(/\s+/)[1];
  return hard === undefined || hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard);
}
