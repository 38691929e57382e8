import { closeSync, openSync, readSync } from "node:fs";

/** Where version 2 and version 1 of control groups count kills for want of memory. */
const PLACES = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];
const MAX_BYTES = 4096;

/** How often the kernel killed in this sandbox for want of memory. */
export class OomCounter {
  readonly #buffer = Buffer.alloc(MAX_BYTES);
  readonly #fd: number | undefined;

  constructor(places: readonly string[] = PLACES) {
    this.#fd = places.map(tryOpen).find((fd) => fd !== undefined && this.#read(fd) !== undefined);
  }

  /** The count since the sandbox began; `undefined` where it cannot be seen. */
  read(): number | undefined {
    return this.#fd === undefined ? undefined : this.#read(this.#fd);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }

  #read(fd: number): number | undefined {
    try {
      const size = readSync(fd, this.#buffer, 0, MAX_BYTES, 0);
      const count = /^oom_kill (\d+)$/m.exec(this.#buffer.toString("latin1", 0, size))?.[1];
      return count === undefined ? undefined : Number(count);
    } catch {
      return undefined;
    }
  }
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
