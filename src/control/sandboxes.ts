import { ServiceBusyError } from "../errors/error-classes.js";
import { messageOf } from "../shared/message-of.js";
import { Adoption } from "./adoption.js";
import type { CapturedLayer } from "./drivers/driver.js";
import type { EgressConfig } from "./egress/network-config.js";
import type { NewSandbox } from "./new-sandbox.js";
import { Pauses, type WakeOptions } from "./pauses.js";
import { type SandboxRecord, toEgressConfig } from "./sandbox-record.js";
import { type EndCause, type LiveSandbox, type SandboxesParts, SandboxTable } from "./sandbox-table.js";
import { Starts } from "./starts.js";
import { PAUSED_STATES, RUNNING_STATES, type SandboxCall, throwConflict, throwNotFound, verdictOf } from "./state-machine.js";
import type { ListFilter, ListQuery } from "./store.js";

/** Between two tries to end or pause a sandbox whose time is over. */
const EXPIRE_AGAIN_MS = 5_000;

/** Creates, finds, prolongs, pauses and ends sandboxes; the store says what there is, the driver what runs. */
export class Sandboxes {
  readonly #parts: SandboxesParts;
  readonly #table: SandboxTable;
  readonly #pauses: Pauses;
  readonly #adoption: Adoption;
  readonly #starts: Starts;
  #isClosing = false;

  constructor(parts: SandboxesParts) {
    this.#parts = parts;
    this.#table = new SandboxTable(parts, {
      onExpired: (id) => this.#quietly(id, this.#expireOrTryAgain(id)),
      onDied: (id) => this.#quietly(id, this.#bemoan(id)),
    });
    this.#starts = new Starts(parts, this.#table);
    this.#pauses = new Pauses(parts, this.#table);
    this.#adoption = new Adoption(parts, this.#table, (id) => this.#starts.owns(id) || parts.pool.owns(id) || parts.builds.owns(id));
  }

  /** Sandboxes that run or are being made; paused ones need no platform. */
  get size(): number {
    return this.#table.liveCount + this.#starts.count;
  }

  /** Creations under way. */
  get startingCount(): number {
    return this.#starts.count;
  }

  /** True while `id` belongs to a sandbox, whatever its state. */
  owns(id: string): boolean {
    return this.#table.owns(id) || this.#starts.owns(id);
  }

  /**
   * Start a sandbox; resolves when its daemon has answered. Whatever fails, nothing is left behind.
   *
   * @param onRunning is called in the moment in which the sandbox begins to exist for callers.
   * @throws {@link TemplateError} unknown template; {@link RateLimitError} too many sandboxes; {@link ServiceBusyError} the platform stops;
   * {@link TimeoutError} the daemon did not answer; `signal.reason` the caller left; errors of the driver.
   */
  async create(request: NewSandbox, signal: AbortSignal, onRunning?: (record: SandboxRecord) => void): Promise<SandboxRecord> {
    if (this.#isClosing) throw new ServiceBusyError("the platform is stopping; start it again and repeat the call");
    return this.#starts.create(request, signal, onRunning);
  }

  /** One page. */
  list(query: ListQuery): { readonly records: readonly SandboxRecord[]; readonly hasMore: boolean } {
    const records = this.#parts.store.list({ ...query, limit: query.limit + 1 });
    return { records: records.slice(0, query.limit), hasMore: records.length > query.limit };
  }

  /** Running sandboxes that match the filters, on all pages. */
  countRunning(filter: ListFilter): number {
    return this.#parts.store.count({ ...filter, states: RUNNING_STATES });
  }

  /** @throws {@link SandboxNotFoundError} no such sandbox. */
  get(id: string): SandboxRecord {
    const record = this.#parts.store.get(id);
    return record !== undefined && verdictOf(record.state, "info") === "allow" ? record : throwNotFound(id);
  }

  /** @throws {@link RateLimitError} as many sandboxes as the platform may have exist. */
  assertRoom(): void {
    this.#starts.assertRoom();
  }

  /** The way into a running sandbox; `undefined` for every other one. */
  find(id: string): LiveSandbox | undefined {
    return this.#table.find(id);
  }

  /** Running sandboxes. */
  running(): readonly LiveSandbox[] {
    return this.#table.all();
  }

  /** The way into a sandbox that {@link find} does not give: wakes a paused one that wants that. */
  async wake(id: string): Promise<LiveSandbox | undefined> {
    for (;;) {
      const record = this.#parts.store.get(id);
      if (record === undefined || !PAUSED_STATES.includes(record.state)) return this.find(id);
      const change = this.#table.transitions.settled(id);
      if (change === undefined) {
        if (!record.policy.autoResume || record.memory === "dropped" || this.#isClosing) return undefined;
        await this.#pauses.resume(record, { timeoutMs: record.createdTimeoutMs, wantsMemory: true, cause: "traffic" });
      } else if (record.policy.autoResume || record.state === "resuming") await change;
      else return undefined;
    }
  }

  /**
   * End a sandbox; resolves when nothing is left of it.
   *
   * @throws {@link SandboxNotFoundError} no such sandbox, or it is being killed already.
   */
  async kill(id: string): Promise<void> {
    if (verdictOf("starting", "kill") === "cancel" && (await this.#starts.cancel(id))) return;
    await this.#end(id, "killed");
  }

  /** Move the end of life to exactly `timeoutMs` from now; 0 ends or pauses the sandbox as its policy says. */
  async setTimeout(id: string, timeoutMs: number): Promise<void> {
    await this.#whenAllowed(id, "setTimeout", async () => {
      if (timeoutMs > 0) this.#table.setEndAt(id, new Date(Date.now() + timeoutMs));
    });
    if (timeoutMs === 0) await this.#expire(id);
  }

  /** Prolong the life to at least `timeoutMs` from now and describe the sandbox; a paused one is resumed and lives that long. */
  async connect(id: string, options: Omit<WakeOptions, "cause">): Promise<{ readonly record: SandboxRecord; readonly wasPaused: boolean }> {
    return this.#whenAllowed(id, "connect", async (record) => {
      if (record.state !== "paused") return { record: this.#prolong(record, options.timeoutMs), wasPaused: false };
      return { record: await this.#resume(record, options), wasPaused: true };
    });
  }

  /** Resume a paused sandbox. @throws {@link FailedPreconditionError} it runs. */
  async resume(id: string, options: Omit<WakeOptions, "cause">): Promise<SandboxRecord> {
    return this.#whenAllowed(id, "resume", (record) => this.#resume(record, options));
  }

  /** Prolong the life to at least `timeoutMs` from now. */
  async refresh(id: string, timeoutMs: number): Promise<void> {
    await this.#whenAllowed(id, "refresh", async (record) => this.#prolong(record, timeoutMs));
  }

  /** Replace the rules for outgoing traffic; what they do not allow any more is cut. */
  async updateNetwork(id: string, { allowInternetAccess, network }: EgressConfig): Promise<void> {
    await this.#whenAllowed(id, "updateNetwork", async (record) => {
      const { allowPublicTraffic, maskRequestHost, httpsPorts } = record.network;
      const kept = {
        ...(allowPublicTraffic !== undefined && { allowPublicTraffic }),
        ...(maskRequestHost !== undefined && { maskRequestHost }),
        ...(httpsPorts !== undefined && { httpsPorts }),
      };
      const next = { ...record, allowInternetAccess, network: { ...network, ...kept } };
      this.#parts.store.setNetwork(id, next.network, allowInternetAccess);
      this.#parts.egress.update(id, toEgressConfig(next));
      const instance = this.#table.instanceOf(id);
      if (instance !== undefined) await this.#table.init(next, instance);
    });
  }

  /** Pause a running sandbox. @throws {@link FailedPreconditionError} it is paused; {@link ServiceBusyError} not at this moment. */
  async pause(id: string, keepsMemory: boolean): Promise<void> {
    await this.#whenAllowed(id, "pause", (record) => this.#pauses.pause(record, keepsMemory, "call"));
  }

  /**
   * Copy what a running sandbox wrote into the new directory `target`; meanwhile its processes stand still.
   *
   * @throws {@link FailedPreconditionError} it does not run.
   */
  async capture(id: string, target: string): Promise<{ readonly record: SandboxRecord; readonly layer: CapturedLayer }> {
    return this.#whenAllowed(id, "snapshot", (record) =>
      this.#table.transitions.run(id, async () => {
        this.#parts.store.setState(id, "snapshotting");
        try {
          const instance = this.#table.instanceOf(id);
          if (instance === undefined) throwNotFound(id);
          return { record, layer: await instance.capture(target) };
        } finally {
          this.#parts.store.setState(id, "running");
        }
      }),
    );
  }

  /** Take over what an earlier platform left, and bury the rest. */
  adopt(): Promise<void> {
    return this.#adoption.adopt();
  }

  /** Destroy what nobody owns. */
  reap(): Promise<void> {
    return this.#adoption.reap();
  }

  /** Stop looking after sandboxes; they go on running for the next platform. Creations under way are undone. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#starts.close();
    await this.#table.close();
  }

  /** Do what a call asks for, in the moment in which the state of the sandbox allows it. */
  async #whenAllowed<T>(id: string, call: SandboxCall, action: (record: SandboxRecord) => Promise<T>): Promise<T> {
    for (;;) {
      const record = this.#parts.store.get(id);
      const verdict = verdictOf(record?.state, call);
      if (record === undefined || verdict === "absent") throwNotFound(id);
      if (verdict === "allow") return action(record);
      const change = verdict === "wait" ? this.#table.transitions.settled(id) : undefined;
      if (change === undefined) throwConflict(id, record.state);
      await change;
    }
  }

  async #resume(record: SandboxRecord, options: Omit<WakeOptions, "cause">): Promise<SandboxRecord> {
    if (this.#isClosing) throw new ServiceBusyError("the platform is stopping; start it again and repeat the call");
    return this.#pauses.resume(record, { ...options, cause: "connect" });
  }

  #prolong(record: SandboxRecord, timeoutMs: number): SandboxRecord {
    const endAt = new Date(Date.now() + timeoutMs);
    if (endAt <= record.endAt) return record;
    this.#table.setEndAt(record.id, endAt);
    return { ...record, endAt };
  }

  async #end(id: string, cause: EndCause, fields?: Readonly<Record<string, string>>): Promise<void> {
    await this.#whenAllowed(id, "kill", () => this.#table.end(id, cause, fields));
  }

  /** A pause that is not possible now, or for which the disk has no room, must not make a sandbox immortal. */
  async #expireOrTryAgain(id: string): Promise<void> {
    try {
      await this.#expire(id);
    } catch (error) {
      this.#table.expireIn(id, EXPIRE_AGAIN_MS);
      throw error;
    }
  }

  async #expire(id: string): Promise<void> {
    const { policy } = this.get(id);
    if (policy.onTimeout === "kill") await this.#end(id, "expired");
    else await this.#whenAllowed(id, "pause", (record) => this.#pauses.pause(record, policy.keepsMemory, "timeout"));
  }

  /** End the sandbox that fills the disk of this machine. */
  async endForDisk(id: string, writtenBytes: number): Promise<void> {
    await this.#end(id, "died", { reason: "disk_full", writtenBytes: String(writtenBytes) });
  }

  /** A daemon that ended takes its sandbox along; the reason is told when it can be seen. */
  async #bemoan(id: string): Promise<void> {
    this.#parts.logger.warn("sandbox.daemon_died", { sandboxId: id });
    const usage = await this.#parts.driver.usage([id], { withDisk: false }).catch(() => undefined);
    const isOutOfMemory = (usage?.get(id)?.oomKills ?? 0) > 0;
    if (isOutOfMemory) this.#parts.journal.tell(id, "oom", "the kernel killed a process: the memory limit of the sandbox was reached");
    await this.#end(id, "died", { reason: isOutOfMemory ? "out_of_memory" : "daemon_ended" });
  }

  #quietly(id: string, work: Promise<void>): void {
    work.catch((error: unknown) => this.#parts.logger.error("sandbox.end_failed", { sandboxId: id, message: messageOf(error) }));
  }
}
