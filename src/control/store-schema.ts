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
  `CREATE TABLE template_builds (
     build_id TEXT PRIMARY KEY,
     template_id TEXT NOT NULL,
     name TEXT,
     tags TEXT NOT NULL,
     state TEXT NOT NULL,
     cpu_count INTEGER NOT NULL,
     memory_mb INTEGER NOT NULL,
     created_at_ms INTEGER NOT NULL,
     updated_at_ms INTEGER NOT NULL,
     finished_at_ms INTEGER,
     reason_message TEXT,
     reason_step TEXT
   ) STRICT;
   CREATE INDEX template_builds_by_template ON template_builds (template_id, created_at_ms);
   CREATE TABLE template_logs (
     build_id TEXT NOT NULL,
     position INTEGER NOT NULL,
     at_ms INTEGER NOT NULL,
     level INTEGER NOT NULL,
     message TEXT NOT NULL,
     step TEXT,
     PRIMARY KEY (build_id, position)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE template_uses (
     template_id TEXT PRIMARY KEY,
     spawn_count INTEGER NOT NULL,
     last_spawned_at_ms INTEGER NOT NULL
   ) STRICT;`,
  `ALTER TABLE sandboxes ADD COLUMN network TEXT NOT NULL DEFAULT '{}';
   ALTER TABLE sandboxes ADD COLUMN traffic_access_token TEXT;
   CREATE TABLE secrets (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     version INTEGER NOT NULL,
     sealed BLOB NOT NULL,
     metadata TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL,
     updated_at_ms INTEGER NOT NULL
   ) STRICT;`,
  `ALTER TABLE sandboxes ADD COLUMN mounts TEXT NOT NULL DEFAULT '[]';
   ALTER TABLE sandboxes ADD COLUMN disk_bytes INTEGER;`,
  `ALTER TABLE sandboxes ADD COLUMN keeps_memory INTEGER NOT NULL DEFAULT 1;
   ALTER TABLE sandboxes ADD COLUMN auto_resume INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE sandboxes ADD COLUMN memory TEXT NOT NULL DEFAULT 'live';
   ALTER TABLE sandboxes ADD COLUMN boot_id TEXT NOT NULL DEFAULT '';
   ALTER TABLE sandboxes ADD COLUMN start TEXT;
   CREATE TABLE creations (
     key TEXT PRIMARY KEY,
     request_hash TEXT NOT NULL,
     sandbox_id TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL
   ) STRICT;
   CREATE TABLE journal (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     sandbox_id TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     event TEXT,
     level TEXT NOT NULL,
     logger TEXT NOT NULL,
     message TEXT NOT NULL,
     fields TEXT NOT NULL
   ) STRICT;
   CREATE INDEX journal_by_sandbox ON journal (sandbox_id, at_ms, seq);
   CREATE TABLE metrics (
     sandbox_id TEXT NOT NULL,
     at_ms INTEGER NOT NULL,
     cpu_used_pct REAL NOT NULL,
     mem_used INTEGER NOT NULL,
     mem_cache INTEGER NOT NULL,
     disk_used INTEGER NOT NULL,
     disk_total INTEGER NOT NULL,
     PRIMARY KEY (sandbox_id, at_ms)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE snapshots (
     id TEXT PRIMARY KEY,
     name TEXT,
     tag TEXT NOT NULL,
     sandbox_id TEXT NOT NULL,
     template_id TEXT NOT NULL,
     build_id TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL,
     is_hidden INTEGER NOT NULL,
     limits TEXT NOT NULL
   ) STRICT;
   CREATE INDEX snapshots_by_time ON snapshots (created_at_ms, id);`,
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
