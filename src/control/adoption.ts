import { isDaemonAlive } from "./daemon-client.js";
import type { FoundInstance, Instance } from "./drivers/driver.js";
import type { SandboxRecord } from "./sandbox-record.js";
import type { SandboxesParts, SandboxTable } from "./sandbox-table.js";
import { PAUSED_STATES } from "./state-machine.js";

const ADOPT_TIMEOUT_MS = 5_000;

/** Brings records and instances together: at the start of the platform, and from time to time afterwards. */
export class Adoption {
  readonly #parts: SandboxesParts;
  readonly #table: SandboxTable;
  /** Ids that others than running and paused sandboxes own. */
  readonly #isTaken: (id: string) => boolean;
  #isDone = false;

  constructor(parts: SandboxesParts, table: SandboxTable, isTaken: (id: string) => boolean) {
    this.#parts = parts;
    this.#table = table;
    this.#isTaken = isTaken;
  }

  /** Take over the instances that an earlier platform left, keep what is paused, and bury the rest. */
  async adopt(): Promise<void> {
    const { store, driver } = this.#parts;
    const left = new Map((await driver.list()).map((found) => [found.instance.id, found]));
    const records = new Map(store.all().map((record) => [record.id, record]));
    const isOurs = (id: string) => this.#table.owns(id) || this.#isTaken(id);
    await Promise.all(
      [...left.values()]
        .filter(({ instance }) => !isOurs(instance.id))
        .map((found) => this.#adoptOne(found, records.get(found.instance.id))),
    );
    for (const id of records.keys()) if (!left.has(id) && !isOurs(id)) store.delete(id);
    this.#isDone = true;
  }

  /** Destroy what no record owns, try again what could not be destroyed before, and adopt where the start could not. */
  async reap(): Promise<void> {
    const { driver, logger } = this.#parts;
    this.#table.forgetGone();
    if (!this.#isDone) {
      await this.adopt();
      return;
    }
    for (const { instance } of await driver.list()) {
      const { id } = instance;
      if (!this.#table.isEnding(id) && (this.#table.owns(id) || this.#isTaken(id))) continue;
      logger.warn("reaper.destroy", { sandboxId: id });
      await this.#table.buryOrLeave(instance);
    }
  }

  async #adoptOne(found: FoundInstance, record: SandboxRecord | undefined): Promise<void> {
    const { instance } = found;
    const isKept = record !== undefined && (await this.#keep(found, record));
    this.#parts.logger.info(isKept ? "sandbox.adopted" : "sandbox.buried", { sandboxId: instance.id, hadRecord: record !== undefined });
    if (!isKept) await this.#table.buryOrLeave(instance);
  }

  /** False when nothing of it is worth keeping. */
  async #keep(found: FoundInstance, record: SandboxRecord): Promise<boolean> {
    if (record.state === "starting" || record.state === "killing") return false;
    const wasPaused = PAUSED_STATES.includes(record.state);
    if (record.state === "paused" && found.isRunning && record.memory === "kept") {
      // It stands still since before; a second freeze costs nothing and holds whatever happened.
      await found.instance.freeze();
      this.#table.setAside(record.id, found.instance, record.endAt, "kept");
      return true;
    }
    if (found.isRunning) return this.#keepRunning(found.instance, record);
    if (!found.hasFiles) return false;
    // A daemon that died is the end of a sandbox. A machine that restarted is not.
    if (!wasPaused && record.bootId === this.#parts.bootId) return false;
    const isOver = !wasPaused && record.policy.onTimeout === "kill" && record.endAt.getTime() <= Date.now();
    if (isOver) return false;
    const isByWish = record.memory === "dropped" || record.state === "pausing";
    this.#table.setAside(record.id, found.instance, earlier(record.endAt, new Date()), isByWish ? "dropped" : "lost");
    if (!isByWish && record.memory !== "lost") {
      const message =
        "the machine restarted or the processes ended while nobody looked: the memory of the sandbox is lost, its files are kept";
      this.#parts.journal.add({ sandboxId: record.id, event: undefined, level: "warn", logger: "lifecycle", message, fields: {} });
    }
    return true;
  }

  /** A sandbox in the middle of a change when the platform ended is simply running again. */
  async #keepRunning(instance: Instance, record: SandboxRecord): Promise<boolean> {
    const isExpired = record.endAt.getTime() <= Date.now() && !PAUSED_STATES.includes(record.state);
    if (isExpired && record.policy.onTimeout === "kill") return false;
    await instance.thaw();
    if (!(await isDaemonAlive(instance, ADOPT_TIMEOUT_MS))) return false;
    // The end of one that was being paused had become the time of the pause, so it gets the life that it was made with.
    const endAt =
      record.state === "running" || record.state === "snapshotting" ? record.endAt : new Date(Date.now() + record.createdTimeoutMs);
    const running: SandboxRecord = { ...record, state: "running", endAt };
    this.#parts.store.setRunning(running);
    this.#table.goLive(running, instance);
    return true;
  }
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b;
}
