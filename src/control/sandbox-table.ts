import { messageOf } from "../shared/message-of.js";
import { initDaemon } from "./daemon-client.js";
import { followComplaints } from "./daemon-complaints.js";
import { DeadlineQueue } from "./deadline-queue.js";
import type { Driver, Instance } from "./drivers/driver.js";
import type { EgressService } from "./egress/egress-service.js";
import type { NetworkConfig } from "./egress/network-config.js";
import type { Journal } from "./journal.js";
import { Lifeline } from "./lifeline.js";
import type { Logger } from "./logger.js";
import { toDaemonInit } from "./new-sandbox.js";
import type { PoolEntry, WarmPool } from "./pool.js";
import { SandboxLink } from "./sandbox-link.js";
import { type MemoryState, type SandboxRecord, toEgressConfig } from "./sandbox-record.js";
import type { Store } from "./store.js";
import type { TemplateResolver } from "./template-resolver.js";
import { startTemplatePrograms } from "./template-start.js";
import { Transitions } from "./transitions.js";

/** How long a daemon may take from its start to its first answer. */
const INIT_TIMEOUT_MS = 15_000;
/** How long the programs of a template may take; less than clients wait for a creation. */
const READY_TIMEOUT_MS = 50_000;

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
  readonly driver: Pick<Driver, "create" | "list" | "usage">;
  readonly templates: TemplateResolver;
  readonly pool: WarmPool;
  /** Whose sandboxes are none of these. */
  readonly builds: { owns(id: string): boolean };
  readonly egress: EgressService;
  /** Sandboxes that may exist at a time. */
  readonly maxSandboxes: number;
  readonly journal: Journal;
  readonly logger: Logger;
  /** Names this run of the machine; another one means that all processes of before are gone. */
  readonly bootId: string;
}

interface Live extends LiveSandbox {
  readonly instance: Instance;
  readonly lifeline: Lifeline;
}

/** Called for a running sandbox whose time is up, or whose daemon died. */
export interface TableListeners {
  onExpired(id: string): void;
  onDied(id: string): void;
}

/** Why a sandbox ended. */
export type EndCause = "killed" | "expired" | "died" | "failed";

const END_TEXTS: Record<EndCause, string> = {
  killed: "the sandbox was killed",
  expired: "the life of the sandbox was over",
  died: "the daemon of the sandbox ended",
  failed: "the programs of the template did not start",
};

/** What stands behind the records: the instances, the ways into them, their deadlines and the changes under way. */
export class SandboxTable {
  readonly transitions = new Transitions();
  readonly #parts: SandboxesParts;
  readonly #listeners: TableListeners;
  readonly #deadlines: DeadlineQueue;
  readonly #live = new Map<string, Live>();
  readonly #paused = new Map<string, Instance>();
  /** Running ones that are about to be set aside. */
  readonly #heldBack = new Set<string>();
  /** Gone, with a record that could not be deleted. */
  readonly #unforgotten = new Set<string>();

  constructor(parts: SandboxesParts, listeners: TableListeners) {
    this.#parts = parts;
    this.#listeners = listeners;
    this.#deadlines = new DeadlineQueue((id) => listeners.onExpired(id));
  }

  /** Running sandboxes, those that are being ended included. */
  get liveCount(): number {
    return this.#live.size;
  }

  /** Running and paused sandboxes. */
  get count(): number {
    return this.#live.size + this.#paused.size;
  }

  /** True while an instance of this id belongs to a sandbox. */
  owns(id: string): boolean {
    return this.#live.has(id) || this.#paused.has(id) || this.transitions.has(id);
  }

  /** True while a sandbox is being ended, or could not be. */
  isEnding(id: string): boolean {
    return this.#live.get(id)?.link.isSevered === true && !this.transitions.has(id);
  }

  /** The way into a running sandbox; `undefined` for every other one. */
  find(id: string): LiveSandbox | undefined {
    const live = this.#live.get(id);
    return live === undefined || live.link.isSevered || this.#heldBack.has(id) ? undefined : live;
  }

  all(): readonly LiveSandbox[] {
    return [...this.#live.values()].filter((live) => !live.link.isSevered);
  }

  /** Instance of a running or paused sandbox. */
  instanceOf(id: string): Instance | undefined {
    return this.#live.get(id)?.instance ?? this.#paused.get(id);
  }

  /** Tell a daemon whose it is; resolves when it is ready. */
  async init(record: SandboxRecord, instance: Instance): Promise<void> {
    const egress = this.#parts.egress.setupFor(record.id, toEgressConfig(record));
    await initDaemon(instance, toDaemonInit(record, egress), INIT_TIMEOUT_MS);
  }

  /** From now on requests reach the sandbox, and its time runs. */
  goLive(record: SandboxRecord, instance: Instance, pooled?: PoolEntry): void {
    const onDead = () => this.#listeners.onDied(record.id);
    const lifeline = pooled?.lifeline ?? new Lifeline(instance, onDead);
    lifeline.handOver(onDead);
    this.#paused.delete(record.id);
    const { accessToken, network, trafficAccessToken } = record;
    const link = pooled?.link ?? new SandboxLink(instance);
    this.#live.set(record.id, { instance, lifeline, link, accessToken, network, trafficAccessToken });
    this.#parts.egress.open(link, toEgressConfig(record));
    followComplaints(link, (message) =>
      this.#parts.journal.add({ sandboxId: record.id, event: undefined, level: "error", logger: "daemon", message, fields: {} }),
    );
    this.#deadlines.set(record.id, record.endAt);
  }

  /** Start what the template of a running sandbox wants to run. A ready command alone is for builds: it waits for what the start command runs. */
  async startPrograms({ id, start }: SandboxRecord, signal: AbortSignal): Promise<void> {
    const live = this.#live.get(id);
    if (live === undefined || start?.startCommand === undefined) return;
    await startTemplatePrograms(live.link, start, { timeoutMs: READY_TIMEOUT_MS, signal, accessToken: live.accessToken });
  }

  setEndAt(id: string, endAt: Date): void {
    this.#parts.store.setEndAt(id, endAt);
    this.#deadlines.set(id, endAt);
  }

  /** Look once more after `delayMs` at a running sandbox whose time is over. */
  expireIn(id: string, delayMs: number): void {
    if (this.find(id) !== undefined) this.#deadlines.set(id, new Date(Date.now() + delayMs));
  }

  /** Nothing reaches the sandbox any more, and its time stands still. */
  sever(id: string): void {
    this.#deadlines.delete(id);
    const live = this.#live.get(id);
    live?.lifeline.close();
    live?.link.sever();
  }

  /** While `work` goes on, no new request reaches the sandbox; those that are under way do. */
  async holdBack<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#heldBack.add(id);
    try {
      return await work();
    } finally {
      this.#heldBack.delete(id);
    }
  }

  /** Keep a sandbox aside that nothing reaches any more. */
  setAside(id: string, instance: Instance, endAt: Date, memory: MemoryState): void {
    this.#parts.store.setPaused(id, endAt, memory);
    this.#live.delete(id);
    this.#paused.set(id, instance);
  }

  /** From the first statement on nothing reaches the sandbox; resolves when nothing is left. */
  async end(id: string, cause: EndCause, fields: Readonly<Record<string, string>> = {}): Promise<void> {
    const instance = this.instanceOf(id);
    if (instance === undefined || this.isEnding(id)) return;
    this.#note(id, () => this.#parts.store.setState(id, "killing"));
    this.sever(id);
    this.#paused.delete(id);
    this.#note(id, () => this.#parts.journal.tell(id, cause === "failed" ? "died" : cause, END_TEXTS[cause], fields));
    this.#parts.logger.info("sandbox.ended", { sandboxId: id, cause });
    await this.bury(instance);
  }

  /** What cannot be destroyed now is left to the reaper. */
  async buryOrLeave(instance: Instance): Promise<void> {
    try {
      await this.bury(instance);
    } catch (error) {
      this.#parts.logger.error("sandbox.destroy_failed", { sandboxId: instance.id, message: messageOf(error) });
    }
  }

  /** A record outlives a destruction that failed, so that the reaper tries again. */
  async bury(instance: Instance): Promise<void> {
    await instance.destroy();
    this.#live.delete(instance.id);
    this.#paused.delete(instance.id);
    this.#unforgotten.add(instance.id);
    this.forgetGone();
  }

  /** Delete the records of what is gone, also those that could not be deleted before. */
  forgetGone(): void {
    for (const id of this.#unforgotten) {
      this.#note(id, () => {
        this.#parts.store.delete(id);
        this.#unforgotten.delete(id);
      });
    }
  }

  /** What is written about an end does not hold it up: on a full disk nothing can be written, and ending sandboxes is what makes room. */
  #note(id: string, write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#parts.logger.warn("sandbox.end_unrecorded", { sandboxId: id, message: messageOf(error) });
    }
  }

  /** Stop looking after sandboxes; they stay as they are. */
  async close(): Promise<void> {
    this.#deadlines.clear();
    await this.transitions.allSettled();
    for (const id of this.#live.keys()) this.sever(id);
  }
}
