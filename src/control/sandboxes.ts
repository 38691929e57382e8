import { FailedPreconditionError, RateLimitError, ServiceBusyError } from "../errors/error-classes.js";
import { initDaemon, isDaemonAlive } from "./daemon-client.js";
import { DeadlineQueue } from "./deadline-queue.js";
import type { Driver, Instance } from "./drivers/driver.js";
import type { EgressService } from "./egress/egress-service.js";
import type { EgressConfig, NetworkConfig } from "./egress/network-config.js";
import { Lifeline } from "./lifeline.js";
import { type Logger, messageOf } from "./logger.js";
import { createRecord, type NewSandbox, toDaemonInit } from "./new-sandbox.js";
import type { PoolEntry, WarmPool } from "./pool.js";
import { createSandboxId } from "./sandbox-id.js";
import { SandboxLink } from "./sandbox-link.js";
import { type SandboxRecord, toEgressConfig } from "./sandbox-record.js";
import { assertAllowed, type SandboxCall, verdictOf } from "./state-machine.js";
import type { ListFilter, ListQuery, Store } from "./store.js";
import type { StartTemplate, TemplateResolver } from "./template-resolver.js";
import { startTemplatePrograms } from "./template-start.js";

/** How long a daemon may take from its start to its first answer. */
const INIT_TIMEOUT_MS = 15_000;
const ADOPT_TIMEOUT_MS = 5_000;
/** How long the programs of a template may take; less than clients wait for a creation. */
const READY_TIMEOUT_MS = 50_000;

/** When a caller that met the limit of sandboxes may try again. */
const RETRY_AFTER_MS = 5_000;

/** A running sandbox, as the edge needs it. */
export interface LiveSandbox {
  readonly link: SandboxLink;
  readonly accessToken: string | undefined;
  readonly network: NetworkConfig;
  /** Token for ports that are not public. */
  readonly trafficAccessToken: string | undefined;
}

export interface SandboxesParts {
  readonly store: Store;
  readonly driver: Pick<Driver, "create" | "list">;
  readonly templates: TemplateResolver;
  readonly pool: WarmPool;
  /** Whose sandboxes are none of these. */
  readonly builds: { owns(id: string): boolean };
  /** Sandboxes that may exist at a time. */
  readonly maxSandboxes: number;
  readonly egress: EgressService;
  readonly logger: Logger;
}

interface Live extends LiveSandbox {
  readonly instance: Instance;
  readonly lifeline: Lifeline;
}

/** Creates, finds, prolongs and ends sandboxes; the store says what there is, the driver what runs. */
export class Sandboxes {
  readonly #parts: SandboxesParts;
  readonly #live = new Map<string, Live>();
  readonly #starting = new Map<string, { readonly cancel: AbortController; readonly settled: Promise<unknown> }>();
  readonly #deadlines = new DeadlineQueue((id) => this.#expire(id));
  #isClosing = false;
  #isAdopted = false;

  constructor(parts: SandboxesParts) {
    this.#parts = parts;
  }

  /** Sandboxes that exist or are being made. */
  get size(): number {
    return this.#live.size + this.#starting.size;
  }

  /** Creations under way. */
  get startingCount(): number {
    return this.#starting.size;
  }

  /** True while `id` belongs to a sandbox, whatever its state. */
  owns(id: string): boolean {
    return this.#live.has(id) || this.#starting.has(id);
  }

  /**
   * Start a sandbox; resolves when its daemon has answered. Whatever fails, nothing is left behind.
   *
   * @throws {@link TemplateError} unknown template; {@link RateLimitError} too many sandboxes; {@link ServiceBusyError} the platform stops;
   * {@link TimeoutError} the daemon did not answer; `signal.reason` the caller left; errors of the driver.
   */
  async create(request: NewSandbox, signal: AbortSignal): Promise<SandboxRecord> {
    if (this.#isClosing) throw new ServiceBusyError("the platform is stopping; start it again and repeat the call");
    const template = this.#parts.templates.resolve(request.template);
    signal.throwIfAborted();
    this.#assertRoom();
    // Nothing can be mounted into a sandbox that runs.
    const pooled = request.mounts.length > 0 ? undefined : this.#parts.pool.take(template);
    const id = pooled?.instance.id ?? createSandboxId();
    const cancel = new AbortController();
    const starting = this.#start(id, request, template, pooled, AbortSignal.any([signal, cancel.signal]));
    this.#starting.set(id, { cancel, settled: starting.catch(() => undefined) });
    try {
      return await starting;
    } finally {
      this.#starting.delete(id);
    }
  }

  /** One page. */
  list(query: ListQuery): { readonly records: readonly SandboxRecord[]; readonly hasMore: boolean } {
    const records = this.#parts.store.list({ ...query, limit: query.limit + 1 });
    return { records: records.slice(0, query.limit), hasMore: records.length > query.limit };
  }

  /** Running sandboxes that match the filters, on all pages. */
  countRunning(filter: ListFilter): number {
    return this.#parts.store.count({ ...filter, states: ["running"] });
  }

  /** @throws {@link SandboxNotFoundError} no such sandbox. */
  get(id: string): SandboxRecord {
    return this.#allowed(id, "info");
  }

  /** The way into a running sandbox; `undefined` for every other one. */
  find(id: string): LiveSandbox | undefined {
    const live = this.#live.get(id);
    return live === undefined || live.link.isSevered ? undefined : live;
  }

  /** Running sandboxes. */
  running(): readonly LiveSandbox[] {
    return [...this.#live.values()].filter((live) => !live.link.isSevered);
  }

  /**
   * End a sandbox; resolves when nothing is left of it.
   *
   * @throws {@link SandboxNotFoundError} no such sandbox, or it is being killed already.
   */
  async kill(id: string): Promise<void> {
    const starting = this.#starting.get(id);
    if (starting !== undefined && verdictOf("starting", "kill") === "cancel") {
      starting.cancel.abort(new FailedPreconditionError(`sandbox "${id}" was killed while it started`, { sandboxId: id }, "aborted"));
      await starting.settled;
      return;
    }
    this.#allowed(id, "kill");
    await this.#end(id, "killed");
  }

  /** Move the end of life to exactly `timeoutMs` from now; 0 ends the sandbox. */
  async setTimeout(id: string, timeoutMs: number): Promise<void> {
    this.#allowed(id, "setTimeout");
    if (timeoutMs === 0) await this.#end(id, "expired");
    else this.#setEndAt(id, new Date(Date.now() + timeoutMs));
  }

  /** Prolong the life to at least `timeoutMs` from now and describe the sandbox. */
  connect(id: string, timeoutMs: number): SandboxRecord {
    return this.#prolong(this.#allowed(id, "connect"), timeoutMs);
  }

  /** Prolong the life to at least `timeoutMs` from now. */
  refresh(id: string, timeoutMs: number): void {
    this.#prolong(this.#allowed(id, "refresh"), timeoutMs);
  }

  /** Replace the rules for outgoing traffic; what they do not allow any more is cut. */
  async updateNetwork(id: string, { allowInternetAccess, network }: EgressConfig): Promise<void> {
    const record = this.#allowed(id, "updateNetwork");
    const { allowPublicTraffic, maskRequestHost, httpsPorts } = record.network;
    const kept = {
      ...(allowPublicTraffic !== undefined && { allowPublicTraffic }),
      ...(maskRequestHost !== undefined && { maskRequestHost }),
      ...(httpsPorts !== undefined && { httpsPorts }),
    };
    const next = { ...record, allowInternetAccess, network: { ...network, ...kept } };
    const { store, egress } = this.#parts;
    store.setNetwork(id, next.network, allowInternetAccess);
    egress.update(id, toEgressConfig(next));
    const live = this.#live.get(id);
    if (live !== undefined) await initDaemon(live.instance, this.#toInit(next), INIT_TIMEOUT_MS);
  }

  /** Take over the instances that an earlier platform left running, and bury the rest. */
  async adopt(): Promise<void> {
    const { store, driver, pool, builds } = this.#parts;
    const left = new Map((await driver.list()).map((entry) => [entry.instance.id, entry]));
    const records = new Map(store.all().map((record) => [record.id, record]));
    const isOurs = (id: string) => this.owns(id) || pool.owns(id) || builds.owns(id);
    await Promise.all(
      [...left.values()]
        .filter(({ instance }) => !isOurs(instance.id))
        .map(({ instance, isRunning }) => this.#adoptOne(instance, isRunning, records.get(instance.id))),
    );
    for (const id of records.keys()) if (!left.has(id) && !isOurs(id)) store.delete(id);
    this.#isAdopted = true;
  }

  /** Destroy what no record owns, try again what could not be destroyed before, and adopt where the start could not. */
  async reap(): Promise<void> {
    const { driver, pool, builds, logger } = this.#parts;
    if (!this.#isAdopted) {
      await this.adopt();
      return;
    }
    for (const { instance } of await driver.list()) {
      const live = this.#live.get(instance.id);
      const { id } = instance;
      if (live === undefined ? this.owns(id) || pool.owns(id) || builds.owns(id) : !live.link.isSevered) continue;
      logger.warn("reaper.destroy", { sandboxId: instance.id });
      await this.#buryOrLeave(instance);
    }
  }

  /** Stop looking after sandboxes; they go on running for the next platform. Creations under way are undone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#deadlines.clear();
    for (const { cancel } of this.#starting.values()) cancel.abort(new ServiceBusyError("the platform is stopping"));
    await Promise.all([...this.#starting.values()].map(({ settled }) => settled));
    for (const live of this.#live.values()) {
      live.lifeline.close();
      live.link.sever();
    }
  }

  async #start(
    id: string,
    request: NewSandbox,
    template: StartTemplate,
    pooled: PoolEntry | undefined,
    signal: AbortSignal,
  ): Promise<SandboxRecord> {
    const { store, driver, logger } = this.#parts;
    const beganAt = performance.now();
    const draft = createRecord(id, request, template);
    store.insert(draft);
    let instance = pooled?.instance;
    try {
      instance ??= await driver.create({ id, templateDir: template.dir, limits: template.limits, mounts: draft.mounts });
      signal.throwIfAborted();
      await initDaemon(instance, this.#toInit(draft, template), INIT_TIMEOUT_MS);
      signal.throwIfAborted();
      const startedAt = new Date();
      const record: SandboxRecord = { ...draft, state: "running", startedAt, endAt: new Date(startedAt.getTime() + request.timeoutMs) };
      store.setRunning(id, record.startedAt, record.endAt);
      const { link, accessToken } = this.#goLive(record, instance, pooled);
      // A ready command alone is for builds: it waits for what the start command runs.
      if (template.start?.startCommand !== undefined) {
        await startTemplatePrograms(link, template.start, { timeoutMs: READY_TIMEOUT_MS, signal, accessToken });
      }
      logger.info("sandbox.created", { sandboxId: id, isPooled: pooled !== undefined, ms: Math.round(performance.now() - beganAt) });
      return record;
    } catch (error) {
      pooled?.lifeline.close();
      pooled?.link.sever();
      logger.warn("sandbox.create_failed", { sandboxId: id, message: messageOf(error) });
      if (this.#live.has(id)) await this.#end(id, "could not start");
      else if (instance === undefined) store.delete(id);
      else await this.#buryOrLeave(instance);
      throw error;
    }
  }

  #goLive(record: SandboxRecord, instance: Instance, pooled?: PoolEntry): Live {
    const onDead = () => {
      this.#parts.logger.warn("sandbox.daemon_died", { sandboxId: record.id });
      this.#endQuietly(record.id, "daemon died");
    };
    const lifeline = pooled?.lifeline ?? new Lifeline(instance, onDead);
    lifeline.handOver(onDead);
    const { accessToken, network, trafficAccessToken } = record;
    const live = { instance, lifeline, link: pooled?.link ?? new SandboxLink(instance), accessToken, network, trafficAccessToken };
    this.#live.set(record.id, live);
    this.#parts.egress.open(live.link, toEgressConfig(record));
    this.#deadlines.set(record.id, record.endAt);
    return live;
  }

  async #adoptOne(instance: Instance, isRunning: boolean, record: SandboxRecord | undefined): Promise<void> {
    const isWanted = isRunning && record?.state === "running" && record.endAt.getTime() > Date.now();
    if (record !== undefined && isWanted && (await isDaemonAlive(instance, ADOPT_TIMEOUT_MS))) {
      this.#goLive(record, instance);
      this.#parts.logger.info("sandbox.adopted", { sandboxId: record.id });
      return;
    }
    this.#parts.logger.info("sandbox.buried", { sandboxId: instance.id, hadRecord: record !== undefined });
    await this.#buryOrLeave(instance);
  }

  #toInit(record: SandboxRecord, template?: StartTemplate) {
    return toDaemonInit(record, this.#parts.egress.setupFor(record.id, toEgressConfig(record)), template);
  }

  /** @throws {@link RateLimitError} as many sandboxes as the platform may have exist. */
  #assertRoom(): void {
    const { maxSandboxes } = this.#parts;
    if (this.size < maxSandboxes) return;
    throw new RateLimitError(
      `this platform has ${this.size} sandboxes and may have ${maxSandboxes}; end some, or start it with a larger AGENT_SANDBOX_MAX_SANDBOXES`,
      { retryAfterMs: RETRY_AFTER_MS },
    );
  }

  /** Record of a sandbox that allows `call`. */
  #allowed(id: string, call: SandboxCall): SandboxRecord {
    const record = this.#parts.store.get(id);
    assertAllowed(id, record?.state, call);
    // assertAllowed throws when there is no record.
    return record as SandboxRecord;
  }

  #prolong(record: SandboxRecord, timeoutMs: number): SandboxRecord {
    const endAt = new Date(Date.now() + timeoutMs);
    if (endAt <= record.endAt) return record;
    this.#setEndAt(record.id, endAt);
    return { ...record, endAt };
  }

  #setEndAt(id: string, endAt: Date): void {
    this.#parts.store.setEndAt(id, endAt);
    this.#deadlines.set(id, endAt);
  }

  #expire(id: string): void {
    this.#endQuietly(id, "expired");
  }

  #endQuietly(id: string, cause: string): void {
    this.#end(id, cause).catch((error: unknown) =>
      this.#parts.logger.error("sandbox.end_failed", { sandboxId: id, message: messageOf(error) }),
    );
  }

  /** From the first statement on nothing reaches the sandbox; resolves when nothing is left. */
  async #end(id: string, cause: string): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined || live.link.isSevered) return;
    this.#parts.store.setState(id, "killing");
    this.#deadlines.delete(id);
    live.lifeline.close();
    live.link.sever();
    this.#parts.logger.info("sandbox.ended", { sandboxId: id, cause });
    await this.#bury(live.instance);
  }

  /** What cannot be destroyed now is left to the reaper. */
  async #buryOrLeave(instance: Instance): Promise<void> {
    try {
      await this.#bury(instance);
    } catch (error) {
      this.#parts.logger.error("sandbox.destroy_failed", { sandboxId: instance.id, message: messageOf(error) });
    }
  }

  /** A record outlives a destruction that failed, so that the reaper tries again. */
  async #bury(instance: Instance): Promise<void> {
    await instance.destroy();
    this.#live.delete(instance.id);
    this.#parts.store.delete(instance.id);
  }
}
