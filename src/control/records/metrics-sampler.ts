import { statfs } from "node:fs/promises";
import { messageOf } from "../../shared/message-of.js";
import type { Driver, InstanceUsage } from "../drivers/driver.js";
import type { Journal } from "../journal.js";
import type { Logger } from "../logger.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { MetricSample, MetricsStore } from "./metrics-store.js";

export interface MetricsSamplerParts {
  readonly driver: Pick<Driver, "usage">;
  readonly metrics: MetricsStore;
  readonly journal: Journal;
  readonly logger: Logger;
  /** Running sandboxes. */
  readonly running: () => readonly SandboxRecord[];
  /** Directory on whose file system sandboxes write. */
  readonly sandboxesDir: string;
}

const PERIOD_MS = 5_000;
/** Counting files may take at most this share of the time. */
const DISK_SHARE = 0.05;

interface Previous {
  readonly atMs: number;
  readonly usage: InstanceUsage;
  readonly diskBytes: number;
}

/** Takes a sample of every running sandbox every 5 seconds, and notices processes that were killed for lack of memory. */
export class MetricsSampler {
  readonly #parts: MetricsSamplerParts;
  readonly #previous = new Map<string, Previous>();
  #timer: NodeJS.Timeout | undefined;
  #nextDiskAtMs = 0;
  #isClosed = false;

  constructor(parts: MetricsSamplerParts) {
    this.#parts = parts;
  }

  /** Begin; the first samples come after one period. */
  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#sample()
        .catch((error: unknown) => this.#parts.logger.warn("metrics.failed", { message: messageOf(error) }))
        .finally(() => this.start());
    }, PERIOD_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #sample(): Promise<void> {
    const records = new Map(this.#parts.running().map((record) => [record.id, record]));
    for (const id of this.#previous.keys()) if (!records.has(id)) this.#previous.delete(id);
    if (records.size === 0) return;
    const beganAt = performance.now();
    const withDisk = beganAt >= this.#nextDiskAtMs;
    const usages = await this.#parts.driver.usage([...records.keys()], { withDisk });
    if (withDisk) this.#nextDiskAtMs = performance.now() + (performance.now() - beganAt) / DISK_SHARE;
    const freeBytes = await this.#freeBytes();
    const at = new Date();
    const samples = new Map<string, MetricSample>();
    for (const [id, usage] of usages) {
      const record = records.get(id);
      if (record === undefined || this.#isClosed) continue;
      const before = this.#previous.get(id);
      const now: Previous = { atMs: at.getTime(), usage, diskBytes: usage.diskBytes ?? before?.diskBytes ?? 0 };
      this.#previous.set(id, now);
      this.#tellKills(id, usage.oomKills - (before?.usage.oomKills ?? 0));
      samples.set(id, toSample(record, before, now, at, freeBytes));
    }
    this.#parts.metrics.add(samples);
    this.#parts.metrics.prune();
  }

  #tellKills(id: string, kills: number): void {
    if (kills <= 0) return;
    const message = `the kernel killed ${kills === 1 ? "a process" : `${kills} processes`}: the memory limit of the sandbox was reached`;
    this.#parts.journal.tell(id, "oom", message, { kills: String(kills) });
  }

  async #freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#parts.sandboxesDir);
    return bavail * bsize;
  }
}

function toSample(record: SandboxRecord, before: Previous | undefined, now: Previous, at: Date, freeBytes: number): MetricSample {
  const limitBytes = record.diskSizeMb * 1024 * 1024;
  return {
    at,
    cpuUsedPct: before === undefined ? 0 : cpuShare(record.limits.cpuCount, before, now),
    memUsed: now.usage.memoryBytes,
    memCache: now.usage.cacheBytes,
    diskUsed: now.diskBytes,
    diskTotal: limitBytes > 0 ? limitBytes : now.diskBytes + freeBytes,
  };
}

/** Percent of all CPUs of the sandbox, two decimals. A start in between sets the counter back, which counts as nothing used. */
function cpuShare(cpuCount: number, before: Previous, now: Previous): number {
  const seconds = Math.max(0, now.usage.cpuSeconds - before.usage.cpuSeconds);
  const share = (seconds / ((Math.max(1, now.atMs - before.atMs) / 1000) * cpuCount)) * 100;
  return Math.round(Math.min(100, share) * 100) / 100;
}
