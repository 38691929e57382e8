import { statfs } from "node:fs/promises";
import { messageOf } from "../shared/message-of.js";
import type { InstanceUsage } from "./drivers/driver.js";
import type { Logger } from "./logger.js";

export interface DiskGuardParts {
  /** On the disk that sandboxes write to. */
  readonly directory: string;
  /** Bytes that must stay free; 0 turns the guard off. */
  readonly reserveBytes: number;
  readonly runningIds: () => readonly string[];
  readonly usage: (ids: readonly string[]) => Promise<ReadonlyMap<string, Pick<InstanceUsage, "diskBytes">>>;
  readonly end: (id: string, writtenBytes: number) => Promise<void>;
  readonly logger: Logger;
}

const INTERVAL_MS = 2_000;

/**
 * Keeps the machine usable where sandboxes have no disk of limited size: when little is free, the sandbox that wrote most is ended, then the
 * next one, until there is room again.
 */
export class DiskGuard {
  readonly #parts: DiskGuardParts;
  readonly #timer: NodeJS.Timeout | undefined;
  #isChecking = false;

  constructor(parts: DiskGuardParts) {
    this.#parts = parts;
    this.#timer = parts.reserveBytes === 0 ? undefined : setInterval(() => void this.#check(), INTERVAL_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const { directory, reserveBytes, runningIds, usage, end, logger } = this.#parts;
    try {
      const { bavail, bsize } = await statfs(directory);
      const ids = runningIds();
      if (bavail * bsize >= reserveBytes || ids.length === 0) return;
      const sizes = [...(await usage(ids))].map(([id, { diskBytes = 0 }]) => ({ id, diskBytes }));
      const [largest] = sizes.sort((a, b) => b.diskBytes - a.diskBytes);
      if (largest === undefined) return;
      logger.warn("disk.low", { freeBytes: bavail * bsize, reserveBytes, sandboxId: largest.id, writtenBytes: largest.diskBytes });
      await end(largest.id, largest.diskBytes);
    } catch (error) {
      logger.warn("disk.check_failed", { message: messageOf(error) });
    } finally {
      this.#isChecking = false;
    }
  }
}
