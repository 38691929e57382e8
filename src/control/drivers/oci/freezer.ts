import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ServiceBusyError, UnimplementedError } from "../../../errors/error-classes.js";
import type { CgroupLayout } from "./cgroups.js";

const DEADLINE_MS = 5_000;

/** Where a cgroup is frozen, in the words of its version. */
interface Freezer {
  readonly file: string;
  readonly frozen: string;
  readonly thawed: string;
  isFrozen(): boolean;
}

/**
 * Let no process of a cgroup run any more; resolves when the kernel says that all of them stand still.
 *
 * @throws {@link ServiceBusyError} one did not within 5 seconds (it waits for a device); all run again then. {@link UnimplementedError} this
 * machine has no freezer.
 */
export async function freezeCgroup(layout: CgroupLayout, path: string): Promise<void> {
  const freezer = findFreezer(layout, path);
  const deadline = performance.now() + DEADLINE_MS;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 20)) {
    // Version 1 may give up half-way and wants to be told again.
    writeFileSync(freezer.file, freezer.frozen);
    if (freezer.isFrozen()) return;
    if (performance.now() > deadline) {
      writeFileSync(freezer.file, freezer.thawed);
      throw new ServiceBusyError("a process of the sandbox waits for a device and cannot be paused now; try again later");
    }
    await delay(pauseMs);
  }
}

/** Let the processes of a cgroup run again; harmless when they do or when there are none. */
export function thawCgroup(layout: CgroupLayout, path: string): void {
  const freezer = findFreezer(layout, path);
  if (existsSync(freezer.file)) writeFileSync(freezer.file, freezer.thawed);
}

function findFreezer({ mode, hierarchies, freezer }: CgroupLayout, path: string): Freezer {
  if (!freezer) throw new UnimplementedError("this machine has no cgroup freezer, so sandboxes cannot be paused with their memory");
  if (mode === "v2") {
    const directory = join(String(hierarchies[0]), path);
    const events = join(directory, "cgroup.events");
    const isFrozen = () => /^frozen 1$/m.test(readFileSync(events, "utf8"));
    return { file: join(directory, "cgroup.freeze"), frozen: "1", thawed: "0", isFrozen };
  }
  const hierarchy = hierarchies.find((directory) => directory.endsWith("/freezer")) ?? "";
  const file = join(hierarchy, path, "freezer.state");
  return { file, frozen: "FROZEN", thawed: "THAWED", isFrozen: () => readFileSync(file, "utf8").trim() === "FROZEN" };
}
