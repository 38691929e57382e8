import { readFileSync } from "node:fs";

/** Names this run of the machine (random(4), `boot_id`); empty where the kernel has none. */
export function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
