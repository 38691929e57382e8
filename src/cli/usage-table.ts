import { Sandbox, type SandboxInfo, type SandboxMetrics } from "../index.js";
import { formatBytes } from "./format-bytes.js";

/** A sandbox and what it used last; `undefined` where nothing is known (yet). */
export interface SandboxUsage {
  readonly info: SandboxInfo;
  readonly usage: SandboxMetrics | undefined;
}

/** Older samples say nothing about now. A sample is taken about every 5 seconds. */
const MAX_AGE_MS = 30_000;
/** Questions under way at a time. */
const CONCURRENCY = 8;

export const USAGE_HEADER = ["ID", "TEMPLATE", "STATE", "CPU", "MEMORY", "DISK", "ENDS IN"] as const;

/** All sandboxes and what they use, those with most CPU first. */
export async function loadUsage(signal?: AbortSignal): Promise<SandboxUsage[]> {
  const infos = await Sandbox.list({ order: "desc", signal }).toArray();
  const waiting = infos.entries();
  const found: SandboxUsage[] = new Array(infos.length);
  const work = async (): Promise<void> => {
    for (const [index, info] of waiting) found[index] = { info, usage: await loadLast(info, signal) };
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return found.sort((a, b) => (b.usage?.cpuUsedPct ?? -1) - (a.usage?.cpuUsedPct ?? -1));
}

/** Cells of one row, in the order of {@link USAGE_HEADER}. */
export function toUsageRow({ info, usage }: SandboxUsage, nowMs: number): string[] {
  return [
    info.sandboxId,
    info.name ?? info.templateId,
    info.state,
    usage === undefined ? "-" : `${usage.cpuUsedPct.toFixed(1)} % of ${usage.cpuCount}`,
    usage === undefined
      ? `- of ${formatBytes(info.memoryMB * 2 ** 20)}`
      : `${formatBytes(usage.memUsed)} of ${formatBytes(usage.memTotal)}`,
    usage === undefined ? "-" : formatBytes(usage.diskUsed),
    info.state === "paused" ? "-" : formatSeconds((info.endAt.getTime() - nowMs) / 1_000),
  ];
}

/** One sandbox for programs. */
export function toUsageJson({ info, usage }: SandboxUsage): Record<string, unknown> {
  return {
    sandboxId: info.sandboxId,
    name: info.name ?? null,
    templateId: info.templateId,
    state: info.state,
    endAt: info.endAt.toISOString(),
    usage: usage === undefined ? null : { ...usage, timestamp: usage.timestamp.toISOString() },
  };
}

async function loadLast({ sandboxId, state }: SandboxInfo, signal: AbortSignal | undefined): Promise<SandboxMetrics | undefined> {
  if (state !== "running") return undefined;
  try {
    return (await Sandbox.getMetrics(sandboxId, { start: new Date(Date.now() - MAX_AGE_MS), signal })).at(-1);
  } catch {
    signal?.throwIfAborted();
    // It ended meanwhile, or the server takes no samples: the others are still worth showing.
    return undefined;
  }
}

function formatSeconds(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  return whole < 3_600 ? `${Math.floor(whole / 60)} min` : `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}
