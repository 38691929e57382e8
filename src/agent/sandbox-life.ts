import type { Sandbox } from "../sandbox/sandbox.js";

/** Milliseconds of life of a sandbox between two uses where nothing else is said. */
export const DEFAULT_LIFE_MS = 300_000;
/** Milliseconds of life that remain behind what a call may take. */
const SPARE_MS = 30_000;

/** Keeps a sandbox alive while it is used. */
export class SandboxLife {
  readonly #sandbox: Sandbox;
  readonly #lifeMs: number;
  /** End of its life as far as this program knows, in milliseconds of `performance.now()`. */
  #endsAt: number;

  /** @param startedAt `performance.now()` before the call that began this life of `lifeMs` */
  constructor(sandbox: Sandbox, lifeMs: number, startedAt: number) {
    this.#sandbox = sandbox;
    this.#lifeMs = lifeMs;
    this.#endsAt = startedAt + lifeMs;
  }

  /** One round trip, and only when half of its life is over or the call may take longer than what is left. */
  async prolong(callMs: number): Promise<void> {
    const now = performance.now();
    if (this.#endsAt - now > Math.max(this.#lifeMs / 2, callMs + SPARE_MS)) return;
    const lifeMs = Math.max(this.#lifeMs, callMs + SPARE_MS);
    await this.#sandbox.setTimeout(lifeMs);
    this.#endsAt = now + lifeMs;
  }
}
