import { InternalError } from "../errors/error-classes.js";
import { messageOf } from "../shared/message-of.js";
import { isDaemonAlive } from "./daemon-client.js";
import type { Instance } from "./drivers/driver.js";
import { failureOf } from "./logger.js";
import type { MemoryState, SandboxRecord } from "./sandbox-record.js";
import type { SandboxesParts, SandboxTable } from "./sandbox-table.js";

/** How long a daemon that was frozen, perhaps for days, may take to answer again. */
const WAKE_TIMEOUT_MS = 5_000;
const PROGRAMS_TIMEOUT_MS = 15_000;

/** How a sandbox is woken. */
export interface WakeOptions {
  readonly timeoutMs: number;
  /** False starts it anew from its files, also where its memory is kept. */
  readonly wantsMemory: boolean;
  /** Who woke it, for the journal. */
  readonly cause: "connect" | "traffic";
}

/** Sets sandboxes aside and brings them back. The caller has seen that the state allows it. */
export class Pauses {
  readonly #parts: SandboxesParts;
  readonly #table: SandboxTable;

  constructor(parts: SandboxesParts, table: SandboxTable) {
    this.#parts = parts;
    this.#table = table;
  }

  /**
   * Pause a running sandbox. Its memory stays where it is, with every process standing still; without memory its processes end and only
   * the files are kept. When it fails the sandbox runs on.
   *
   * @throws {@link ServiceBusyError} a process cannot be stopped at this moment.
   */
  async pause(record: SandboxRecord, keepsMemory: boolean, cause: "call" | "timeout"): Promise<void> {
    const { id } = record;
    await this.#table.transitions.run(id, async () => {
      const instance = this.#instanceOf(id);
      this.#parts.store.setState(id, "pausing");
      // A request that came now would be cut off; held back, it finds a paused sandbox, which it may wake.
      await this.#table.holdBack(id, async () => {
        if (keepsMemory) await this.#freeze(record, instance);
        this.#table.sever(id);
        if (!keepsMemory) await this.#stop(record, instance);
        this.#table.setAside(id, instance, new Date(), keepsMemory ? "kept" : "dropped");
      });
    });
    this.#parts.logger.info("sandbox.paused", { sandboxId: id, keepsMemory, cause });
    this.#parts.journal.tell(id, "paused", `the sandbox was paused with its ${keepsMemory ? "memory" : "files only"}`, {
      memory: keepsMemory ? "kept" : "dropped",
      cause,
    });
  }

  /**
   * Bring a paused sandbox back. When its memory is gone it is started anew from its files, and its record says so.
   *
   * @throws errors of a start; the sandbox then stays paused.
   */
  async resume(record: SandboxRecord, options: WakeOptions): Promise<SandboxRecord> {
    const { id } = record;
    const running = await this.#table.transitions.run(id, async () => {
      const instance = this.#instanceOf(id);
      this.#parts.store.setState(id, "resuming");
      try {
        const isAwake = options.wantsMemory && record.memory === "kept" && (await wake(instance));
        const started = isAwake ? instance : await this.#boot(record, instance);
        const running = this.#setRunning(record, started, options.timeoutMs, isAwake ? "live" : "rebooted");
        // A ready command may take long; its failure is no reason to take the files away.
        if (!isAwake)
          await this.#table
            .startPrograms(running, AbortSignal.timeout(PROGRAMS_TIMEOUT_MS))
            .catch((error: unknown) => this.#complain(id, error));
        return running;
      } catch (error) {
        this.#parts.store.setPaused(id, record.endAt, await this.#memoryAfterFailure(record, instance));
        this.#parts.logger.warn("sandbox.resume_failed", { sandboxId: id, ...failureOf(error) });
        throw error;
      }
    });
    const wasLost = record.memory === "lost" || (record.memory === "kept" && options.wantsMemory && running.memory !== "live");
    this.#parts.logger.info("sandbox.resumed", { sandboxId: id, memory: running.memory, cause: options.cause });
    this.#parts.journal.tell(id, "resumed", resumedText(running.memory, wasLost), {
      memory: wasLost ? "lost" : running.memory,
      cause: options.cause,
    });
    return running;
  }

  #complain(id: string, error: unknown): void {
    const message = `the programs of the template did not start again: ${messageOf(error)}`;
    this.#parts.journal.add({ sandboxId: id, event: undefined, level: "warn", logger: "lifecycle", message, fields: {} });
  }

  async #freeze(record: SandboxRecord, instance: Instance): Promise<void> {
    try {
      await instance.freeze();
    } catch (error) {
      this.#parts.store.setState(record.id, "running");
      throw error;
    }
  }

  async #stop(record: SandboxRecord, instance: Instance): Promise<void> {
    try {
      await instance.stop();
    } catch (error) {
      // Its connections are cut and some processes may be dead: it is a paused sandbox whose memory cannot be trusted.
      this.#table.setAside(record.id, instance, new Date(), "dropped");
      throw error;
    }
  }

  async #boot(record: SandboxRecord, instance: Instance): Promise<Instance> {
    await instance.stop();
    const { id, limits, mounts } = record;
    const started = await this.#parts.driver.create({ id, limits, mounts, templateDir: "", isRestart: true });
    try {
      await this.#table.init(record, started);
      return started;
    } catch (error) {
      await started.stop();
      throw error;
    }
  }

  #setRunning(record: SandboxRecord, instance: Instance, timeoutMs: number, memory: MemoryState): SandboxRecord {
    const startedAt = new Date();
    const endAt = new Date(startedAt.getTime() + timeoutMs);
    const kept = memory === "live" ? (record.memory === "kept" ? "live" : record.memory) : memory;
    const running: SandboxRecord = { ...record, state: "running", startedAt, endAt, memory: kept, bootId: this.#parts.bootId };
    this.#parts.store.setRunning(running);
    this.#table.goLive(running, instance);
    return running;
  }

  /** A failed start from files has no memory to go back to. */
  async #memoryAfterFailure(record: SandboxRecord, instance: Instance): Promise<MemoryState> {
    if (record.memory !== "kept") return record.memory;
    try {
      const isThere = await instance.thaw();
      if (isThere) await instance.freeze();
      return isThere ? "kept" : "lost";
    } catch {
      return "kept";
    }
  }

  #instanceOf(id: string): Instance {
    const instance = this.#table.instanceOf(id);
    if (instance === undefined) throw new InternalError(`sandbox "${id}" has a record and no instance; restart the platform`);
    return instance;
  }
}

async function wake(instance: Instance): Promise<boolean> {
  return (await instance.thaw()) && (await isDaemonAlive(instance, WAKE_TIMEOUT_MS));
}

function resumedText(memory: MemoryState, wasLost: boolean): string {
  if (wasLost) return "the memory of the paused sandbox was lost; it was started anew from its files";
  return memory === "live" ? "the sandbox was resumed with its memory" : "the sandbox was started anew from its files";
}
