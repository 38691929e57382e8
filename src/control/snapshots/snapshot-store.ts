import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { InstanceLimits } from "../drivers/driver.js";
import type { SnapshotRecord } from "./snapshot-record.js";

/** Which snapshots to list. */
export interface SnapshotFilter {
  readonly sandboxId?: string | undefined;
  /** Id or name. */
  readonly name?: string | undefined;
  readonly tag?: string | undefined;
}

/** A place in the list. */
export interface SnapshotPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/** The table of snapshots. */
export class SnapshotStore {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** Keep a snapshot; another one with its name and tag loses them. */
  insert(record: SnapshotRecord): void {
    if (record.name !== undefined) {
      this.#database.prepare("UPDATE snapshots SET is_hidden = 1 WHERE name = ? AND tag = ?").run(record.name, record.tag);
    }
    this.#database
      .prepare("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .run(
        record.id,
        record.name ?? null,
        record.tag,
        record.sandboxId,
        record.templateId,
        record.buildId,
        record.createdAt.getTime(),
        Number(record.isHidden),
        JSON.stringify(record.limits),
      );
  }

  /** A snapshot by its id, hidden ones included. */
  get(id: string): SnapshotRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM snapshots WHERE id = ?").get(id);
    return row === undefined ? undefined : fromRow(row);
  }

  findNamed(name: string, tag: string): SnapshotRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM snapshots WHERE name = ? AND tag = ? AND is_hidden = 0").get(name, tag);
    return row === undefined ? undefined : fromRow(row);
  }

  /** Newest first, without the hidden ones. */
  list(filter: SnapshotFilter, after: SnapshotPosition | undefined, limit: number): SnapshotRecord[] {
    const conditions = ["is_hidden = 0"];
    const values: SQLInputValue[] = [];
    if (filter.sandboxId !== undefined) {
      conditions.push("sandbox_id = ?");
      values.push(filter.sandboxId);
    }
    if (filter.name !== undefined) {
      conditions.push("(id = ? OR name = ?)");
      values.push(filter.name, filter.name);
    }
    if (filter.tag !== undefined) {
      conditions.push("tag = ?");
      values.push(filter.tag);
    }
    if (after !== undefined) {
      conditions.push("(created_at_ms < ? OR (created_at_ms = ? AND id > ?))");
      values.push(after.createdAt.getTime(), after.createdAt.getTime(), after.id);
    }
    return this.#database
      .prepare(`SELECT * FROM snapshots WHERE ${conditions.join(" AND ")} ORDER BY created_at_ms DESC, id ASC LIMIT ?`)
      .all(...values, limit)
      .map(fromRow);
  }

  all(): SnapshotRecord[] {
    return this.#database.prepare("SELECT * FROM snapshots").all().map(fromRow);
  }

  hide(id: string): void {
    this.#database.prepare("UPDATE snapshots SET is_hidden = 1 WHERE id = ?").run(id);
  }

  delete(id: string): void {
    this.#database.prepare("DELETE FROM snapshots WHERE id = ?").run(id);
  }
}

// Written by `insert` only, so the types are known.
function fromRow(row: Record<string, SQLOutputValue>): SnapshotRecord {
  return {
    id: row.id as string,
    name: (row.name ?? undefined) as string | undefined,
    tag: row.tag as string,
    sandboxId: row.sandbox_id as string,
    templateId: row.template_id as string,
    buildId: row.build_id as string,
    createdAt: new Date(row.created_at_ms as number),
    isHidden: row.is_hidden === 1,
    limits: JSON.parse(row.limits as string) as InstanceLimits,
  };
}
