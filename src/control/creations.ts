import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as turn } from "node:timers/promises";
import { FailedPreconditionError } from "../errors/error-classes.js";
import type { NewSandbox } from "./new-sandbox.js";
import type { SandboxRecord } from "./sandbox-record.js";
import type { Sandboxes } from "./sandboxes.js";

/** How long a key is remembered. */
const KEPT_MS = 24 * 3600_000;

interface Shared {
  readonly requestHash: string;
  readonly outcome: Promise<SandboxRecord>;
  readonly cancel: AbortController;
  waiting: number;
}

/**
 * Creations that may be repeated: all requests with one key get the same sandbox.
 *
 * The key is kept in the step that makes the sandbox exist, so no crash comes between them.
 */
export class Creations {
  readonly #database: DatabaseSync;
  readonly #sandboxes: Pick<Sandboxes, "create" | "get" | "kill">;
  readonly #shared = new Map<string, Shared>();

  constructor(database: DatabaseSync, sandboxes: Pick<Sandboxes, "create" | "get" | "kill">) {
    this.#database = database;
    this.#sandboxes = sandboxes;
  }

  /**
   * Create a sandbox, or give the one that an earlier request with this key created.
   *
   * @throws {@link FailedPreconditionError} the key belongs to another request, or its sandbox ended; errors of a creation, which leave the
   * key free.
   */
  async create(request: NewSandbox, key: string | undefined, signal: AbortSignal): Promise<SandboxRecord> {
    if (key === undefined) return this.#createOnce(request, signal);
    const requestHash = hashOf(request);
    const known = this.#find(key);
    if (known !== undefined) {
      assertSame(key, known.requestHash, requestHash);
      return this.#existing(key, known.sandboxId);
    }
    const running = this.#shared.get(key);
    if (running !== undefined) assertSame(key, running.requestHash, requestHash);
    return this.#join(running ?? this.#begin(key, requestHash, request), signal);
  }

  /** Nobody can ask again for a sandbox without a key, so one whose client left meanwhile is undone. */
  async #createOnce(request: NewSandbox, signal: AbortSignal): Promise<SandboxRecord> {
    const record = await this.#sandboxes.create(request, signal);
    // The last steps let no news in. It takes two turns until all that is there was looked at: the first ends the one that runs.
    await turn();
    await turn();
    if (!signal.aborted) return record;
    await this.#sandboxes.kill(record.id);
    throw signal.reason;
  }

  #begin(key: string, requestHash: string, request: NewSandbox): Shared {
    const cancel = new AbortController();
    const outcome = this.#sandboxes
      .create(request, cancel.signal, (record) => this.#keep(key, requestHash, record.id))
      .finally(() => this.#shared.delete(key));
    const shared: Shared = { requestHash, outcome, cancel, waiting: 0 };
    this.#shared.set(key, shared);
    return shared;
  }

  /** The creation goes on as long as one of its callers waits for it. */
  async #join(shared: Shared, signal: AbortSignal): Promise<SandboxRecord> {
    shared.waiting += 1;
    const leave = () => {
      shared.waiting -= 1;
      if (shared.waiting === 0) shared.cancel.abort(signal.reason);
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    try {
      return await shared.outcome;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #existing(key: string, sandboxId: string): SandboxRecord {
    try {
      return this.#sandboxes.get(sandboxId);
    } catch (cause) {
      throw new FailedPreconditionError(`the sandbox that Idempotency-Key "${key}" created has ended; use a new key for another one`, {
        cause,
        sandboxId,
      });
    }
  }

  #find(key: string): { readonly requestHash: string; readonly sandboxId: string } | undefined {
    this.#database.prepare("DELETE FROM creations WHERE created_at_ms < ?").run(Date.now() - KEPT_MS);
    const row = this.#database.prepare("SELECT request_hash, sandbox_id FROM creations WHERE key = ?").get(key);
    return row === undefined ? undefined : { requestHash: String(row.request_hash), sandboxId: String(row.sandbox_id) };
  }

  #keep(key: string, requestHash: string, sandboxId: string): void {
    this.#database.prepare("INSERT OR REPLACE INTO creations VALUES (?, ?, ?, ?)").run(key, requestHash, sandboxId, Date.now());
  }
}

function assertSame(key: string, known: string, given: string): void {
  if (known === given) return;
  throw new FailedPreconditionError(`Idempotency-Key "${key}" was used with another request; use a new key for another sandbox`);
}

/** Requests with the same members in another order are the same request. */
function hashOf(request: NewSandbox): string {
  return createHash("sha256")
    .update(JSON.stringify(sorted(request)))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
