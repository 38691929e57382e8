import type { DatabaseSync, SQLOutputValue } from "node:sqlite";

/** A secret as it is described; its value is apart. */
export interface SecretRecord {
  readonly id: string;
  /** Lower case. */
  readonly name: string;
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The secrets in the database; values are sealed before they come here. */
export class SecretTable {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** False when the name is taken. */
  insert(record: SecretRecord, sealed: Uint8Array): boolean {
    const { id, name, version, metadata, createdAt, updatedAt } = record;
    const { changes } = this.#database
      .prepare("INSERT OR IGNORE INTO secrets VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(id, name, version, sealed, JSON.stringify(metadata), createdAt.getTime(), updatedAt.getTime());
    return changes > 0;
  }

  /** Find by id or lower-case name. */
  find(ref: string): SecretRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM secrets WHERE id = ? OR name = ?").get(ref, ref);
    return row === undefined ? undefined : fromRow(row);
  }

  sealedValue(id: string): Uint8Array | undefined {
    // The column is a BLOB that insert and update write.
    return this.#database.prepare("SELECT sealed FROM secrets WHERE id = ?").get(id)?.sealed as Uint8Array | undefined;
  }

  update(record: SecretRecord, sealed: Uint8Array): void {
    this.#database
      .prepare("UPDATE secrets SET version = ?, sealed = ?, metadata = ?, updated_at_ms = ? WHERE id = ?")
      .run(record.version, sealed, JSON.stringify(record.metadata), record.updatedAt.getTime(), record.id);
  }

  delete(id: string): void {
    this.#database.prepare("DELETE FROM secrets WHERE id = ?").run(id);
  }

  /** By name, those behind `after`. */
  list(after: string, limit: number): SecretRecord[] {
    return this.#database.prepare("SELECT * FROM secrets WHERE name > ? ORDER BY name LIMIT ?").all(after, limit).map(fromRow);
  }
}

// The columns are STRICT and written only above, so their types are known.
function fromRow(row: Record<string, SQLOutputValue>): SecretRecord {
  return {
    id: row.id as string,
    name: row.name as string,
    version: row.version as number,
    metadata: JSON.parse(row.metadata as string) as Record<string, string>,
    createdAt: new Date(row.created_at_ms as number),
    updatedAt: new Date(row.updated_at_ms as number),
  };
}
