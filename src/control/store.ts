import { chmodSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from "node:sqlite";
import { AlreadyExistsError } from "../errors/error-classes.js";
import { findDataHolder } from "./data-holder.js";
import type { NetworkConfig } from "./egress/network-config.js";
import type { ListPosition } from "./list-cursor.js";
import type { MemoryState, OnTimeout, SandboxMount, SandboxRecord } from "./sandbox-record.js";
import { SecretTable } from "./secrets/secret-table.js";
import type { SandboxState } from "./state-machine.js";
import { migrate } from "./store-schema.js";
import { BuildTable } from "./templates/build-table.js";
import type { TemplateStart } from "./templates/template-store.js";

/** What the records of a list have in common. */
export interface ListFilter {
  readonly states: readonly SandboxState[];
  /** Every pair must be there. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Inclusive. */
  readonly startedAfter?: Date | undefined;
  readonly templateId?: string | undefined;
}

/** One page of a list. */
export interface ListQuery extends ListFilter {
  readonly order: "asc" | "desc";
  /** The last record of the page before. */
  readonly after?: ListPosition | undefined;
  readonly limit: number;
}

type Row = Record<string, SQLOutputValue>;

/** The state of the control plane, in one SQLite file that one process holds at a time. */
export class Store {
  readonly secrets: SecretTable;
  readonly #database: DatabaseSync;
  /** Builds of templates. */
  readonly builds: BuildTable;

  /** The file, for the other tables of the platform. */
  get database(): DatabaseSync {
    return this.#database;
  }

  /** @throws {@link AlreadyExistsError} another process has the file. */
  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 0 });
    this.secrets = new SecretTable(this.#database);
    try {
      chmodSync(file, 0o600);
      // EXCLUSIVE keeps the lock until the process ends, however it ends.
      this.#database.exec("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
      migrate(this.#database);
      // The first write takes the lock also when there was nothing to migrate.
      this.#database.exec("BEGIN IMMEDIATE; COMMIT;");
    } catch (error) {
      this.#database.close();
      if (error instanceof Error && /locked|busy/i.test(error.message)) {
        throw new AlreadyExistsError(describeHolder(file), { cause: error });
      }
      throw error;
    }
    this.builds = new BuildTable(this.#database);
  }

  /** Do several changes as one: all of them are kept, or none. */
  atomically(change: () => void): void {
    this.#database.exec("BEGIN");
    try {
      change();
      this.#database.exec("COMMIT");
    } catch (error) {
      // Some failures, a full disk among them, have ended the transaction already.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  insert(record: SandboxRecord): void {
    this.#database
      .prepare(
        `INSERT INTO sandboxes (id, template_id, build_id, alias, state, started_at_ms, end_at_ms, created_timeout_ms, on_timeout,
         keeps_memory, auto_resume, memory, boot_id, metadata, envs, start, access_token, allow_internet_access, network,
         traffic_access_token, memory_bytes, cpu_count, pids_max, disk_bytes, disk_size_mb, envd_version,
         mounts)
         VALUES (:id, :templateId, :buildId, :alias, :state, :startedAt, :endAt, :createdTimeoutMs, :onTimeout, :keepsMemory, :autoResume,
         :memory, :bootId, :metadata, :envs, :start, :accessToken, :allowInternetAccess, :network, :trafficAccessToken, :memoryBytes,
         :cpuCount, :pidsMax, :diskBytes, :diskSizeMb, :envdVersion, :mounts)`,
      )
      .run(toParameters(record));
  }

  get(id: string): SandboxRecord | undefined {
    const row = this.#database.prepare("SELECT * FROM sandboxes WHERE id = ?").get(id);
    return row === undefined ? undefined : fromRow(row);
  }

  setState(id: string, state: SandboxState): void {
    this.#database.prepare("UPDATE sandboxes SET state = ? WHERE id = ?").run(state, id);
  }

  /** Starting or resuming → running, with the times that count from now. */
  setRunning(record: Pick<SandboxRecord, "id" | "startedAt" | "endAt" | "memory" | "bootId">): void {
    this.#database
      .prepare("UPDATE sandboxes SET state = 'running', started_at_ms = ?, end_at_ms = ?, memory = ?, boot_id = ? WHERE id = ?")
      .run(record.startedAt.getTime(), record.endAt.getTime(), record.memory, record.bootId, record.id);
  }

  /** Whatever it was → paused since `endAt`. */
  setPaused(id: string, endAt: Date, memory: MemoryState): void {
    this.#database
      .prepare("UPDATE sandboxes SET state = 'paused', end_at_ms = ?, memory = ? WHERE id = ?")
      .run(endAt.getTime(), memory, id);
  }

  setEndAt(id: string, endAt: Date): void {
    this.#database.prepare("UPDATE sandboxes SET end_at_ms = ? WHERE id = ?").run(endAt.getTime(), id);
  }

  setNetwork(id: string, network: NetworkConfig, allowInternetAccess: boolean | undefined): void {
    this.#database
      .prepare("UPDATE sandboxes SET network = ?, allow_internet_access = ? WHERE id = ?")
      .run(JSON.stringify(network), toFlag(allowInternetAccess), id);
  }

  delete(id: string): void {
    this.#database.prepare("DELETE FROM sandboxes WHERE id = ?").run(id);
  }

  /** Sorted by start in `order`, then by id ascending. */
  list(query: ListQuery): SandboxRecord[] {
    const { conditions, values } = toConditions(query);
    if (query.after !== undefined) {
      const startedAtMs = query.after.startedAt.getTime();
      conditions.push(`(started_at_ms ${query.order === "asc" ? ">" : "<"} ? OR (started_at_ms = ? AND id > ?))`);
      values.push(startedAtMs, startedAtMs, query.after.id);
    }
    const direction = query.order === "asc" ? "ASC" : "DESC";
    return this.#database
      .prepare(`SELECT * FROM sandboxes WHERE ${conditions.join(" AND ")} ORDER BY started_at_ms ${direction}, id ASC LIMIT ?`)
      .all(...values, query.limit)
      .map(fromRow);
  }

  count(filter: ListFilter): number {
    const { conditions, values } = toConditions(filter);
    const row = this.#database.prepare(`SELECT count(*) AS n FROM sandboxes WHERE ${conditions.join(" AND ")}`).get(...values);
    return Number(row?.n ?? 0);
  }

  all(): SandboxRecord[] {
    return this.#database.prepare("SELECT * FROM sandboxes").all().map(fromRow);
  }

  close(): void {
    this.#database.close();
  }
}

function describeHolder(file: string): string {
  const holder = findDataHolder(file);
  if (holder === undefined) return `another platform uses ${file}; stop it, or set AGENT_SANDBOX_DATA_DIR to another directory`;
  const { pid, runDir } = holder;
  return `another platform (pid ${pid}, run directory ${runDir}) uses ${file}; stop it with \`abx system stop\` and AGENT_SANDBOX_RUN_DIR=${runDir}, or set AGENT_SANDBOX_DATA_DIR to another directory`;
}

function toConditions(filter: ListFilter): { readonly conditions: string[]; readonly values: SQLInputValue[] } {
  const conditions = [`state IN (${filter.states.map(() => "?").join(", ")})`];
  const values: SQLInputValue[] = [...filter.states];
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    conditions.push("EXISTS (SELECT 1 FROM json_each(metadata) AS pair WHERE pair.key = ? AND pair.value = ?)");
    values.push(key, value);
  }
  if (filter.startedAfter !== undefined) {
    conditions.push("started_at_ms >= ?");
    values.push(filter.startedAfter.getTime());
  }
  if (filter.templateId !== undefined) {
    conditions.push("template_id = ?");
    values.push(filter.templateId);
  }
  return { conditions, values };
}

function toParameters(record: SandboxRecord): Record<string, SQLInputValue> {
  const { limits, policy, ...rest } = record;
  return {
    ...rest,
    onTimeout: policy.onTimeout,
    keepsMemory: Number(policy.keepsMemory),
    autoResume: Number(policy.autoResume),
    alias: record.alias ?? null,
    startedAt: record.startedAt.getTime(),
    endAt: record.endAt.getTime(),
    metadata: JSON.stringify(record.metadata),
    envs: JSON.stringify(record.envs),
    start: record.start === undefined ? null : JSON.stringify(record.start),
    accessToken: record.accessToken ?? null,
    allowInternetAccess: toFlag(record.allowInternetAccess),
    network: JSON.stringify(record.network),
    trafficAccessToken: record.trafficAccessToken ?? null,
    memoryBytes: limits.memoryBytes,
    cpuCount: limits.cpuCount,
    pidsMax: limits.pidsMax,
    diskBytes: limits.diskBytes ?? null,
    mounts: JSON.stringify(record.mounts),
  };
}

function toFlag(value: boolean | undefined): number | null {
  return value === undefined ? null : Number(value);
}

// The columns are STRICT and written only by toParameters, so their types are known.
function fromRow(row: Row): SandboxRecord {
  const text = (column: string) => row[column] as string;
  const number = (column: string) => row[column] as number;
  const optional = (column: string) => (row[column] ?? undefined) as string | undefined;
  return {
    id: text("id"),
    templateId: text("template_id"),
    buildId: text("build_id"),
    alias: optional("alias"),
    state: text("state") as SandboxState,
    startedAt: new Date(number("started_at_ms")),
    endAt: new Date(number("end_at_ms")),
    createdTimeoutMs: number("created_timeout_ms"),
    policy: {
      onTimeout: text("on_timeout") as OnTimeout,
      keepsMemory: number("keeps_memory") === 1,
      autoResume: number("auto_resume") === 1,
    },
    memory: text("memory") as MemoryState,
    bootId: text("boot_id"),
    metadata: JSON.parse(text("metadata")) as Record<string, string>,
    envs: JSON.parse(text("envs")) as Record<string, string>,
    start: row.start === null ? undefined : (JSON.parse(text("start")) as TemplateStart),
    accessToken: optional("access_token"),
    allowInternetAccess: row.allow_internet_access === null ? undefined : row.allow_internet_access === 1,
    limits: {
      memoryBytes: number("memory_bytes"),
      cpuCount: number("cpu_count"),
      pidsMax: number("pids_max"),
      ...(row.disk_bytes !== null && { diskBytes: number("disk_bytes") }),
    },
    mounts: JSON.parse(text("mounts")) as SandboxMount[],
    network: JSON.parse(text("network")) as NetworkConfig,
    trafficAccessToken: optional("traffic_access_token"),
    diskSizeMb: number("disk_size_mb"),
    envdVersion: text("envd_version"),
  };
}
