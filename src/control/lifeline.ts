import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isDaemonAlive } from "./daemon-client.js";
import type { Instance } from "./drivers/driver.js";

/** Before a lifeline is opened again: a daemon that cuts each one at once must not keep the platform busy. */
const PAUSE_MS = 100;
/** How long a daemon that closed the lifeline may take to prove that it lives. */
const CHECK_TIMEOUT_MS = 2_000;

/**
 * Notices at once when a daemon dies.
 *
 * An idle connection is kept open; the kernel closes it with the daemon. A close alone proves nothing (a daemon may tidy up idle
 * connections), so the daemon is asked before it is called dead.
 */
export class Lifeline {
  readonly #instance: Instance;
  #onDead: () => void;
  #socket: Socket | undefined;
  #isClosed = false;

  /** `onDead` is called once, unless the lifeline is closed before. */
  constructor(instance: Instance, onDead: () => void) {
    this.#instance = instance;
    this.#onDead = onDead;
    void this.#hold();
  }

  /** Tell another listener from now on. */
  handOver(onDead: () => void): void {
    this.#onDead = onDead;
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  async #hold(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#untilClosed(await this.#instance.connect());
      } catch {
        // The daemon cannot be reached; the check below decides.
      }
      if (this.#isClosed) return;
      if (!(await isDaemonAlive(this.#instance, CHECK_TIMEOUT_MS))) break;
      await delay(PAUSE_MS, undefined, { ref: false });
    }
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onDead();
  }

  #untilClosed(socket: Socket): Promise<void> {
    this.#socket = socket;
    if (this.#isClosed) socket.destroy();
    return new Promise((resolve) => {
      socket.on("error", () => socket.destroy());
      socket.on("close", () => resolve());
      // Without a reader the end of the stream is never seen; the peer has nothing to say here.
      socket.resume();
    });
  }
}
