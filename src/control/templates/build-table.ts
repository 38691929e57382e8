import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { type BuildLogEntry, type BuildRecord, type BuildState, LOG_LEVELS, type LogLevel } from "./build-record.js";

/** How much a template was used. */
export interface TemplateUse {
  readonly spawnCount: number;
  readonly lastSpawnedAt: Date | undefined;
}

type Row = Record<string, SQLOutputValue>;

/** Lines kept per build; a noisier build loses the rest of its log, not itself. */
const MAX_LOG_ENTRIES = 20_000;

/** Builds, their logs and the use of templates, in the database of the control plane. */
export class BuildTable {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  insert(record: BuildRecord): void {
    this.#database
      .prepare("INSERT INTO template_builds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)")
      .run(
        record.buildId,
        record.templateId,
        record.name ?? null,
        JSON.stringify(record.tags),
        record.state,
        record.cpuCount,
        record.memoryMb,
        record.createdAt.getTime(),
        record.updatedAt.getTime(),
      );
  }

  get(buildId: string): BuildRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM template_builds WHERE build_id = ?").get(buildId);
    return row === undefined ? undefined : fromRow(row);
  }

  /** Builds, newest first; of one template when it is given. */
  list(templateId?: string): BuildRecord[] {
    const order = "ORDER BY created_at_ms DESC, rowid DESC";
    return templateId === undefined
      ? this.#database.prepare(`SELECT * FROM template_builds ${order}`).all().map(fromRow)
      : this.#database.prepare(`SELECT * FROM template_builds WHERE template_id = ? ${order}`).all(templateId).map(fromRow);
  }

  /** The newest build that was asked for under a name. */
  findByName(name: string): BuildRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM template_builds WHERE name = ? ORDER BY created_at_ms DESC LIMIT 1").get(name);
    return row === undefined ? undefined : fromRow(row);
  }

  setState(buildId: string, state: BuildState, reason?: BuildRecord["reason"]): void {
    const now = Date.now();
    const finishedAt = state === "ready" || state === "error" ? now : null;
    this.#database
      .prepare(
        "UPDATE template_builds SET state = ?, updated_at_ms = ?, finished_at_ms = ?, reason_message = ?, reason_step = ? WHERE build_id = ?",
      )
      .run(state, now, finishedAt, reason?.message ?? null, reason?.step ?? null, buildId);
  }

  /** Remove builds with their logs. */
  delete(buildIds: readonly string[]): void {
    for (const buildId of buildIds) {
      this.#database.prepare("DELETE FROM template_logs WHERE build_id = ?").run(buildId);
      this.#database.prepare("DELETE FROM template_builds WHERE build_id = ?").run(buildId);
    }
  }

  addLog(buildId: string, entry: BuildLogEntry): void {
    this.#database
      .prepare(
        `INSERT INTO template_logs SELECT ?1, count(*), ?2, ?3, ?4, ?5 FROM template_logs WHERE build_id = ?1 HAVING count(*) < ${MAX_LOG_ENTRIES}`,
      )
      .run(buildId, entry.timestamp.getTime(), LOG_LEVELS.indexOf(entry.level), entry.message, entry.step ?? null);
  }

  /** Entries of at least `level`, after the first `offset` of those. */
  logs(buildId: string, { offset = 0, limit, level = "debug" }: { offset?: number; limit: number; level?: LogLevel }): BuildLogEntry[] {
    return this.#database
      .prepare("SELECT * FROM template_logs WHERE build_id = ? AND level >= ? ORDER BY position LIMIT ? OFFSET ?")
      .all(buildId, LOG_LEVELS.indexOf(level), limit, offset)
      .map(fromLogRow);
  }

  /** Entries of at least `level` from a time on, forward or backward. */
  logsFrom(
    buildId: string,
    { cursorMs, limit, level = "debug", isForward }: { cursorMs?: number; limit: number; level?: LogLevel; isForward: boolean },
  ): BuildLogEntry[] {
    const [side, order] = isForward ? [">=", "ASC"] : ["<=", "DESC"];
    const cursor = cursorMs ?? (isForward ? 0 : Number.MAX_SAFE_INTEGER);
    return this.#database
      .prepare(`SELECT * FROM template_logs WHERE build_id = ? AND level >= ? AND at_ms ${side} ? ORDER BY position ${order} LIMIT ?`)
      .all(buildId, LOG_LEVELS.indexOf(level), cursor, limit)
      .map(fromLogRow);
  }

  /** The last entries of a step. */
  lastLogs(buildId: string, step: string, limit: number): BuildLogEntry[] {
    return this.#database
      .prepare("SELECT * FROM template_logs WHERE build_id = ? AND step = ? ORDER BY position DESC LIMIT ?")
      .all(buildId, step, limit)
      .map(fromLogRow)
      .reverse();
  }

  /** A sandbox was made from the template. */
  countSpawn(templateId: string): void {
    this.#database
      .prepare(
        `INSERT INTO template_uses VALUES (?, 1, ?)
         ON CONFLICT (template_id) DO UPDATE SET spawn_count = spawn_count + 1, last_spawned_at_ms = excluded.last_spawned_at_ms`,
      )
      .run(templateId, Date.now());
  }

  use(templateId: string): TemplateUse {
    const row = this.#database.prepare("SELECT * FROM template_uses WHERE template_id = ?").get(templateId);
    if (row === undefined) return { spawnCount: 0, lastSpawnedAt: undefined };
    return { spawnCount: Number(row.spawn_count), lastSpawnedAt: new Date(Number(row.last_spawned_at_ms)) };
  }
}

// The columns are STRICT and written only above, so their types are known.
function fromRow(row: Row): BuildRecord {
  const message = row.reason_message as string | null;
  const finishedAtMs = row.finished_at_ms as number | null;
  return {
    buildId: row.build_id as string,
    templateId: row.template_id as string,
    name: (row.name ?? undefined) as string | undefined,
    tags: JSON.parse(row.tags as string) as string[],
    state: row.state as BuildState,
    cpuCount: row.cpu_count as number,
    memoryMb: row.memory_mb as number,
    createdAt: new Date(row.created_at_ms as number),
    updatedAt: new Date(row.updated_at_ms as number),
    finishedAt: finishedAtMs === null ? undefined : new Date(finishedAtMs),
    reason: message === null ? undefined : { message, step: (row.reason_step ?? undefined) as string | undefined },
  };
}

function fromLogRow(row: Row): BuildLogEntry {
  return {
    timestamp: new Date(row.at_ms as number),
    level: LOG_LEVELS[row.level as number] ?? "info",
    message: row.message as string,
    step: (row.step ?? undefined) as string | undefined,
  };
}
