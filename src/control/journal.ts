import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite";

/** What happens to a sandbox that others may want to know. */
export const SANDBOX_EVENTS = ["created", "paused", "resumed", "snapshotted", "forked", "oom", "killed", "expired", "died"] as const;

export type SandboxEventType = (typeof SANDBOX_EVENTS)[number];
export type LogLevel = "debug" | "info" | "warn" | "error";

/** One line of the journal. */
export interface JournalEntry {
  /** Grows with every entry of this platform. */
  readonly seq: number;
  readonly sandboxId: string;
  readonly at: Date;
  /** Absent for a mere log line. */
  readonly event: SandboxEventType | undefined;
  readonly level: LogLevel;
  /** Part of the platform that speaks. */
  readonly logger: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, string>>;
}

export type NewJournalEntry = Omit<JournalEntry, "seq" | "at">;

/** Which entries of one sandbox. */
export interface JournalQuery {
  /** Entries from this time on, or up to it when `direction` is `backward`. */
  readonly cursorMs?: number | undefined;
  readonly direction: "forward" | "backward";
  /** Only entries of at least this level. */
  readonly level?: LogLevel | undefined;
  /** Only entries with this text. */
  readonly search?: string | undefined;
  readonly limit: number;
}

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];
/** Entries of all sandboxes together; the oldest go first. */
const MAX_ENTRIES = 100_000;
const TRIM_EVERY = 1_000;

/** What happened to sandboxes, bounded and kept over restarts; also that of sandboxes which are gone. */
export class Journal {
  readonly #database: DatabaseSync;
  readonly #listeners = new Set<(entry: JournalEntry) => void>();
  #sinceTrim = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  add(entry: NewJournalEntry): void {
    const at = new Date();
    const { lastInsertRowid } = this.#database
      .prepare("INSERT INTO journal (sandbox_id, at_ms, event, level, logger, message, fields) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .run(entry.sandboxId, at.getTime(), entry.event ?? null, entry.level, entry.logger, entry.message, JSON.stringify(entry.fields));
    const seq = Number(lastInsertRowid);
    this.#sinceTrim += 1;
    if (this.#sinceTrim >= TRIM_EVERY) {
      this.#sinceTrim = 0;
      this.#database.prepare("DELETE FROM journal WHERE seq <= ?").run(seq - MAX_ENTRIES);
    }
    for (const listener of this.#listeners) listener({ ...entry, seq, at });
  }

  /** Record an event of the life of a sandbox. */
  tell(sandboxId: string, event: SandboxEventType, message: string, fields: Readonly<Record<string, string>> = {}): void {
    const level = event === "oom" || event === "died" ? "error" : "info";
    this.add({ sandboxId, event, level, logger: "lifecycle", message, fields });
  }

  /** Whether anything is kept about a sandbox, which may be gone. */
  has(sandboxId: string): boolean {
    return this.#database.prepare("SELECT 1 FROM journal WHERE sandbox_id = ? LIMIT 1").get(sandboxId) !== undefined;
  }

  /** Entries of one sandbox in the order of the query's direction. */
  logs(sandboxId: string, query: JournalQuery): JournalEntry[] {
    const conditions = ["sandbox_id = ?"];
    const values: SQLInputValue[] = [sandboxId];
    const isForward = query.direction === "forward";
    if (query.cursorMs !== undefined) {
      conditions.push(`at_ms ${isForward ? ">=" : "<="} ?`);
      values.push(query.cursorMs);
    }
    if (query.level !== undefined) {
      const levels = LEVELS.slice(LEVELS.indexOf(query.level));
      conditions.push(`level IN (${levels.map(() => "?").join(", ")})`);
      values.push(...levels);
    }
    if (query.search !== undefined) {
      conditions.push("instr(lower(message), lower(?)) > 0");
      values.push(query.search);
    }
    const order = isForward ? "ASC" : "DESC";
    return this.#database
      .prepare(`SELECT * FROM journal WHERE ${conditions.join(" AND ")} ORDER BY at_ms ${order}, seq ${order} LIMIT ?`)
      .all(...values, query.limit)
      .map(fromRow);
  }

  /** At most `limit` events after `seq`, oldest first, of one sandbox or of all. */
  eventsAfter(seq: number, sandboxId: string | undefined, limit: number): JournalEntry[] {
    const ofSandbox = sandboxId === undefined ? "" : "AND sandbox_id = ?";
    return this.#database
      .prepare(`SELECT * FROM journal WHERE seq > ? AND event IS NOT NULL ${ofSandbox} ORDER BY seq ASC LIMIT ?`)
      .all(seq, ...(sandboxId === undefined ? [] : [sandboxId]), limit)
      .map(fromRow);
  }

  /** Number of the newest entry; 0 when there was none. */
  get lastSeq(): number {
    const row = this.#database.prepare("SELECT max(seq) AS seq FROM journal").get();
    return Number(row?.seq ?? 0);
  }

  /** Hear of every new entry; the returned function ends it. */
  subscribe(listener: (entry: JournalEntry) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

// Written by `add` only, so the types are known.
function fromRow(row: Record<string, SQLOutputValue>): JournalEntry {
  return {
    seq: row.seq as number,
    sandboxId: row.sandbox_id as string,
    at: new Date(row.at_ms as number),
    event: (row.event ?? undefined) as SandboxEventType | undefined,
    level: row.level as LogLevel,
    logger: row.logger as string,
    message: row.message as string,
    fields: JSON.parse(row.fields as string) as Record<string, string>,
  };
}
