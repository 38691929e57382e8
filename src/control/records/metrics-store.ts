import type { DatabaseSync } from "node:sqlite";

/** What a sandbox used at one moment; sizes in bytes. */
export interface MetricSample {
  readonly at: Date;
  /** Share of its CPUs, 0 to 100. */
  readonly cpuUsedPct: number;
  readonly memUsed: number;
  readonly memCache: number;
  readonly diskUsed: number;
  readonly diskTotal: number;
}

/** How long samples are kept. */
const KEPT_MS = 6 * 3600_000;

/** Samples of sandboxes over time, bounded by their age and by the life of the sandbox. */
export class MetricsStore {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Keep a sample of each sandbox, in one transaction, and drop what is too old. */
  add(samples: ReadonlyMap<string, MetricSample>): void {
    if (samples.size === 0) return;
    this.#database.exec("BEGIN");
    try {
      const insert = this.#database.prepare("INSERT OR REPLACE INTO metrics VALUES (?, ?, ?, ?, ?, ?, ?)");
      const trim = this.#database.prepare("DELETE FROM metrics WHERE sandbox_id = ? AND at_ms < ?");
      for (const [id, sample] of samples) {
        const { at, cpuUsedPct, memUsed, memCache, diskUsed, diskTotal } = sample;
        insert.run(id, at.getTime(), cpuUsedPct, memUsed, memCache, diskUsed, diskTotal);
        trim.run(id, at.getTime() - KEPT_MS);
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      // Some failures, a full disk among them, have ended the transaction already.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Samples in a range, both ends included, oldest first. */
  range(sandboxId: string, from: Date | undefined, to: Date | undefined): MetricSample[] {
    return this.#database
      .prepare("SELECT * FROM metrics WHERE sandbox_id = ? AND at_ms BETWEEN ? AND ? ORDER BY at_ms")
      .all(sandboxId, from?.getTime() ?? 0, to?.getTime() ?? Number.MAX_SAFE_INTEGER)
      .map((row) => ({
        at: new Date(Number(row.at_ms)),
        cpuUsedPct: Number(row.cpu_used_pct),
        memUsed: Number(row.mem_used),
        memCache: Number(row.mem_cache),
        diskUsed: Number(row.disk_used),
        diskTotal: Number(row.disk_total),
      }));
  }

  /** Newest sample. */
  latest(sandboxId: string): MetricSample | undefined {
    const row = this.#database.prepare("SELECT max(at_ms) AS at_ms FROM metrics WHERE sandbox_id = ?").get(sandboxId);
    if (row === undefined || row.at_ms === null) return undefined;
    const at = new Date(Number(row.at_ms));
    return this.range(sandboxId, at, at)[0];
  }

  /** Forget the samples of sandboxes that are gone. */
  prune(): void {
    this.#database.exec("DELETE FROM metrics WHERE sandbox_id NOT IN (SELECT id FROM sandboxes)");
  }
}
