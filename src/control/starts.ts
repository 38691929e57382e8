import { FailedPreconditionError, RateLimitError, ServiceBusyError } from "../errors/error-classes.js";
import type { Instance } from "./drivers/driver.js";
import { ConcurrencyGate } from "./drivers/oci/concurrency-gate.js";
import { failureOf } from "./logger.js";
import { createRecord, type NewSandbox } from "./new-sandbox.js";
import type { PoolEntry } from "./pool.js";
import { createSandboxId } from "./sandbox-id.js";
import type { SandboxRecord } from "./sandbox-record.js";
import type { SandboxesParts, SandboxTable } from "./sandbox-table.js";
import type { StartTemplate } from "./template-resolver.js";

interface Starting {
  readonly cancel: AbortController;
  readonly settled: Promise<unknown>;
}

/**
 * Daemons that may be on their way to their first answer at a time. A hundred at once would share the processors until the last ones had no time left
 * to answer in; those that wait for their turn have all of it.
 */
const BOOTS_AT_ONCE = 12;
/** When a caller that met the limit of sandboxes may try again. */
const RETRY_AFTER_MS = 5_000;

/** Creations under way. */
export class Starts {
  readonly #parts: SandboxesParts;
  readonly #table: SandboxTable;
  readonly #starting = new Map<string, Starting>();
  readonly #boots = new ConcurrencyGate(BOOTS_AT_ONCE);

  constructor(parts: SandboxesParts, table: SandboxTable) {
    this.#parts = parts;
    this.#table = table;
  }

  get count(): number {
    return this.#starting.size;
  }

  owns(id: string): boolean {
    return this.#starting.has(id);
  }

  /** See {@link Sandboxes.create}. */
  async create(request: NewSandbox, signal: AbortSignal, onRunning?: (record: SandboxRecord) => void): Promise<SandboxRecord> {
    const template = this.#parts.templates.resolve(request.template);
    signal.throwIfAborted();
    this.assertRoom();
    // Nothing can be mounted into a sandbox that runs.
    const pooled = request.mounts.length > 0 ? undefined : this.#parts.pool.take(template);
    const id = pooled?.instance.id ?? createSandboxId();
    const cancel = new AbortController();
    const starting = this.#start(createRecord(id, request, template, this.#parts.bootId), template, pooled, {
      signal: AbortSignal.any([signal, cancel.signal]),
      onRunning,
    });
    this.#starting.set(id, { cancel, settled: starting.catch(() => undefined) });
    try {
      return await starting;
    } finally {
      this.#starting.delete(id);
    }
  }

  /** Undo a creation; false when there is none of this id. */
  async cancel(id: string): Promise<boolean> {
    const starting = this.#starting.get(id);
    if (starting === undefined) return false;
    starting.cancel.abort(new FailedPreconditionError(`sandbox "${id}" was killed while it started`, { sandboxId: id }, "aborted"));
    await starting.settled;
    return true;
  }

  /** Undo all creations. */
  async close(): Promise<void> {
    for (const { cancel } of this.#starting.values()) cancel.abort(new ServiceBusyError("the platform is stopping"));
    await Promise.all([...this.#starting.values()].map(({ settled }) => settled));
  }

  async #start(
    draft: SandboxRecord,
    template: StartTemplate,
    pooled: PoolEntry | undefined,
    { signal, onRunning }: { readonly signal: AbortSignal; readonly onRunning: ((record: SandboxRecord) => void) | undefined },
  ): Promise<SandboxRecord> {
    const { store, driver, logger, journal } = this.#parts;
    const { id } = draft;
    const beganAt = performance.now();
    store.insert(draft);
    let instance = pooled?.instance;
    const introduce = async (made: Instance): Promise<Instance> => {
      instance = made;
      signal.throwIfAborted();
      await this.#table.init(draft, made);
      return made;
    };
    const boot = async (): Promise<Instance> => {
      signal.throwIfAborted();
      return introduce(await driver.create({ id, templateDir: template.dir, limits: template.limits, mounts: draft.mounts }));
    };
    try {
      const started = pooled === undefined ? await this.#boots.run(boot) : await introduce(pooled.instance);
      signal.throwIfAborted();
      const startedAt = new Date();
      const endAt = new Date(startedAt.getTime() + draft.createdTimeoutMs);
      const record: SandboxRecord = { ...draft, state: "running", startedAt, endAt };
      store.atomically(() => {
        store.setRunning(record);
        onRunning?.(record);
      });
      this.#table.goLive(record, started, pooled);
      await this.#table.startPrograms(record, signal);
      const ms = Math.round(performance.now() - beganAt);
      logger.info("sandbox.created", { sandboxId: id, isPooled: pooled !== undefined, ms });
      const message = `the sandbox was created from template ${record.alias ?? record.templateId} in ${ms} ms`;
      journal.tell(id, "created", message, { templateId: record.templateId });
      return record;
    } catch (error) {
      logger.warn("sandbox.create_failed", { sandboxId: id, ...failureOf(error) });
      if (this.#table.instanceOf(id) !== undefined) await this.#table.end(id, "failed");
      else await this.#undo(id, instance, pooled);
      throw error;
    }
  }

  async #undo(id: string, instance: Instance | undefined, pooled: PoolEntry | undefined): Promise<void> {
    pooled?.lifeline.close();
    pooled?.link.sever();
    if (instance === undefined) this.#parts.store.delete(id);
    else await this.#table.buryOrLeave(instance);
  }

  /** @throws {@link RateLimitError} as many sandboxes as the platform may have exist. */
  assertRoom(): void {
    const { maxSandboxes } = this.#parts;
    const count = this.#table.count + this.#starting.size;
    if (count < maxSandboxes) return;
    throw new RateLimitError(
      `this platform has ${count} sandboxes and may have ${maxSandboxes}; end some, or start it with a larger AGENT_SANDBOX_MAX_SANDBOXES`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }
}
