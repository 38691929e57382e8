import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { InternalError } from "../../../errors/error-classes.js";

/** How this machine mounts cgroups: version 1 with its many hierarchies, version 2, or version 1 with an empty version 2 beside it. */
export type CgroupMode = "v1" | "v2" | "hybrid";

/** The cgroup hierarchies of this machine. */
export interface CgroupLayout {
  readonly mode: CgroupMode;
  /** Directory of every hierarchy that holds a cgroup of a sandbox. */
  readonly hierarchies: readonly string[];
  readonly controllers: { readonly memory: boolean; readonly cpu: boolean; readonly pids: boolean };
  readonly swapLimit: boolean;
  readonly freezer: boolean;
}

const CGROUP_ROOT = "/sys/fs/cgroup";
/** The version 2 hierarchy of hybrid machines. It has no controllers; unmounting it in a private namespace lets crun treat the rest as v1. */
export const UNIFIED_MOUNT = join(CGROUP_ROOT, "unified");
const KILL_DEADLINE_MS = 10_000;

/** Look at what is mounted below `/sys/fs/cgroup`. */
export function readCgroupLayout(root: string = CGROUP_ROOT): CgroupLayout {
  const version2Controllers = readWords(join(root, "cgroup.controllers"));
  if (version2Controllers !== undefined) {
    const has = (name: string) => version2Controllers.includes(name);
    return {
      mode: "v2",
      hierarchies: [root],
      controllers: { memory: has("memory"), cpu: has("cpu"), pids: has("pids") },
      swapLimit: has("memory") && (readWords("/proc/swaps") ?? []).length > 5,
      freezer: true,
    };
  }
  const directories = readdirOrEmpty(root)
    .map((name) => join(root, name))
    .filter((directory) => existsSync(join(directory, "cgroup.procs")));
  const unified = join(root, "unified");
  const has = (name: string) => existsSync(join(root, name, "cgroup.procs"));
  return {
    mode: existsSync(join(unified, "cgroup.controllers")) ? "hybrid" : "v1",
    hierarchies: directories.filter((directory) => directory !== unified),
    controllers: { memory: has("memory"), cpu: has("cpu"), pids: has("pids") },
    swapLimit: existsSync(join(root, "memory", "memory.memsw.limit_in_bytes")),
    freezer: has("freezer"),
  };
}

/** Names of the cgroups directly below `path` in any hierarchy. */
export function listChildCgroups({ hierarchies }: CgroupLayout, path: string): string[] {
  const names = hierarchies.flatMap((hierarchy) => readdirOrEmpty(join(hierarchy, path), (entry) => entry.isDirectory()));
  return [...new Set(names)];
}

/** True when a process lives in the cgroup or in one below it. */
export function hasProcesses(layout: CgroupLayout, path: string): boolean {
  return readProcesses(layout, path).size > 0;
}

/**
 * Kill every process of the cgroup, resolve when the kernel has none left, then remove the cgroup from every hierarchy.
 *
 * @throws {@link InternalError} processes stay for 10 seconds (for instance in an uninterruptible wait).
 */
export async function destroyCgroup(layout: CgroupLayout, path: string): Promise<void> {
  const deadline = performance.now() + KILL_DEADLINE_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    const pids = readProcesses(layout, path);
    if (pids.size === 0 && removeCgroup(layout, path)) return;
    killAll(layout, path, pids);
    if (performance.now() > deadline) {
      throw new InternalError(`cgroup ${path} still has ${pids.size} processes 10 seconds after SIGKILL`);
    }
    await delay(pauseMs);
  }
}

/** Remove a cgroup that holds no other; one that does stays. */
export function removeEmptyCgroup(layout: CgroupLayout, path: string): void {
  for (const hierarchy of layout.hierarchies) {
    try {
      rmdirSync(join(hierarchy, path));
    } catch {
      // In use, or not there.
    }
  }
}

function killAll({ mode, hierarchies }: CgroupLayout, path: string, pids: ReadonlySet<number>): void {
  if (mode === "v2") writeQuietly(join(String(hierarchies[0]), path, "cgroup.kill"), "1");
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself.
    }
  }
  // A frozen process takes its signal only when it thaws.
  for (const hierarchy of hierarchies) writeQuietly(join(hierarchy, path, "freezer.state"), "THAWED");
  if (mode === "v2") writeQuietly(join(String(hierarchies[0]), path, "cgroup.freeze"), "0");
}

function readProcesses({ hierarchies }: CgroupLayout, path: string): Set<number> {
  const pids = new Set<number>();
  for (const hierarchy of hierarchies) {
    for (const directory of withDescendants(join(hierarchy, path))) {
      for (const word of readWords(join(directory, "cgroup.procs")) ?? []) {
        // 0 stands for a process of an outer pid namespace, which is nobody's of ours.
        if (word !== "" && word !== "0") pids.add(Number(word));
      }
    }
  }
  return pids;
}

/** @returns false when something still uses it. */
function removeCgroup({ hierarchies }: CgroupLayout, path: string): boolean {
  let isGone = true;
  for (const hierarchy of hierarchies) {
    for (const directory of withDescendants(join(hierarchy, path)).reverse()) {
      try {
        rmdirSync(directory);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") isGone = false;
      }
    }
  }
  return isGone;
}

/** `directory` and everything below it, parents first; empty when it does not exist. */
function withDescendants(directory: string): string[] {
  if (!existsSync(directory)) return [];
  const children = readdirOrEmpty(directory, (entry) => entry.isDirectory());
  return [directory, ...children.flatMap((name) => withDescendants(join(directory, name)))];
}

function readdirOrEmpty(directory: string, isWanted: (entry: { isDirectory(): boolean }) => boolean = () => true): string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter(isWanted)
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function readWords(path: string): string[] | undefined {
  try {
    return readFileSync(path, "utf8").trim().split(/\s+/);
  } catch {
    return undefined;
  }
}

function writeQuietly(path: string, text: string): void {
  try {
    if (existsSync(path)) writeFileSync(path, text);
  } catch {
    // Gone in the meantime.
  }
}
