import type { DatabaseSync } from "node:sqlite";

/** Each entry takes the schema from its index to the next; `user_version` says how many have run. Never edit one, append. */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE sandboxes (
     id TEXT PRIMARY KEY,
     template_id TEXT NOT NULL,
     build_id TEXT NOT NULL,
     alias TEXT,
     state TEXT NOT NULL,
     started_at_ms INTEGER NOT NULL,
     end_at_ms INTEGER NOT NULL,
     created_timeout_ms INTEGER NOT NULL,
     on_timeout TEXT NOT NULL,
     metadata TEXT NOT NULL,
     envs TEXT NOT NULL,
     access_token TEXT,
     allow_internet_access INTEGER,
     memory_bytes INTEGER NOT NULL,
     cpu_count REAL NOT NULL,
     pids_max INTEGER NOT NULL,
     disk_size_mb INTEGER NOT NULL,
     envd_version TEXT NOT NULL
   ) STRICT;
   CREATE INDEX sandboxes_by_start ON sandboxes (started_at_ms, id);`,
];

/**
 * Bring the schema to the newest version, each step in a transaction.
 *
 * @throws Error the file was written by a newer version of the platform.
 */
export function migrate(database: DatabaseSync): void {
  const row = database.prepare("PRAGMA user_version").get();
  const version = Number(row?.user_version ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Error(`the platform database has schema ${version}, this version knows ${MIGRATIONS.length}; use the newer version of abx`);
  }
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN; ${statements} PRAGMA user_version = ${index + 1}; COMMIT;`);
  }
}
