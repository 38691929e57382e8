import { SandboxError } from "../errors/sandbox-error.js";
import type { Sandbox } from "../sandbox/sandbox.js";

/** Milliseconds of life of a sandbox that was made without a word about it. */
export const DEFAULT_LIFE_MS = 300_000;
/** Milliseconds of life that remain behind what a call may take. */
const SPARE_MS = 30_000;
/** Longest time in milliseconds between two looks at a sandbox in which something runs. */
const MAX_LOOK_MS = 60_000;

/** A sandbox that lives on while it is used. */
export class SandboxLife {
  readonly sandbox: Sandbox;
  readonly #lifeMs: number;
  /** End of its life as far as this program knows, in milliseconds of `performance.now()`. */
  #endsAt: number;
  #holders = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /**
   * @param lifeMs what is left to it, at least, after it was prolonged
   * @param endsAt in milliseconds of `performance.now()`; `Infinity` for one whose life is somebody else's business
   */
  constructor(sandbox: Sandbox, lifeMs: number, endsAt: number) {
    this.sandbox = sandbox;
    this.#lifeMs = lifeMs;
    this.#endsAt = endsAt;
  }

  /**
   * Leave enough life for a call of `callMs`. One round trip, and only when half of its life is over or the call may take longer than what is
   * left.
   */
  async prolong(callMs: number): Promise<void> {
    const now = performance.now();
    if (this.#endsAt - now > Math.max(this.#lifeMs / 2, callMs + SPARE_MS)) return;
    const lifeMs = Math.max(this.#lifeMs, callMs + SPARE_MS);
    try {
      await this.sandbox.setTimeout(lifeMs);
    } catch (error) {
      // One that was paused at the end of its life has to be woken for that.
      if (!SandboxError.isInstance(error) || error.reason !== "failed_precondition") throw error;
      await this.sandbox.connect({ timeoutMs: lifeMs });
    }
    this.#endsAt = now + lifeMs;
  }

  /** Keep it alive until the returned function is called; calling that twice is fine. */
  hold(): () => void {
    if (this.#endsAt === Number.POSITIVE_INFINITY) return () => {};
    this.#holders++;
    this.#timer ??= this.#startTimer();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders--;
      if (this.#holders > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #startTimer(): ReturnType<typeof setInterval> {
    // What fails here fails again, and is told, where the sandbox is used.
    const timer: unknown = setInterval(() => void this.prolong(0).catch(() => {}), Math.min(this.#lifeMs / 4, MAX_LOOK_MS));
    // Elsewhere than in Node a timer is a number, and keeps no program from ending.
    if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") timer.unref();
    return timer as ReturnType<typeof setInterval>; // the line above looks at what it may also be
  }
}

/** Whether a failure says that the sandbox is not there any more: it ended, or was set aside. */
export function hasEnded(error: unknown): boolean {
  return SandboxError.isInstance(error) && (error.reason === "sandbox_not_found" || error.reason === "sandbox_gone");
}
