import { SandboxLifecycleError } from "@openai/agents-core/sandbox";
import { Sandbox } from "../../sandbox/sandbox.js";
import { hasEnded, SandboxLife } from "../sandbox-life.js";
import { QUICK_MS } from "../tool-context.js";
import { type AgentSandboxClientOptions, lifeMsOf, toCreateOptions } from "./client-options.js";
import { createFromSnapshot, restoreSnapshot } from "./session-snapshots.js";
import type { AgentSandboxSessionState } from "./session-state.js";

/** The sandbox of a session: kept alive by use, found again after a pause, replaced by what a snapshot holds. */
export class SessionSandbox {
  readonly #state: AgentSandboxSessionState;
  readonly #options: AgentSandboxClientOptions;
  #life: SandboxLife;
  #isEnded = false;

  /** @param startedAt `performance.now()` before the call that gave the sandbox */
  constructor(state: AgentSandboxSessionState, sandbox: Sandbox, options: AgentSandboxClientOptions, startedAt: number) {
    this.#state = state;
    this.#options = options;
    this.#life = toLife(sandbox, state, options, startedAt);
  }

  /** The sandbox of a state, woken where it was paused; where it has ended, a new one from the snapshot of the state. */
  static async open(state: AgentSandboxSessionState, options: AgentSandboxClientOptions): Promise<SessionSandbox> {
    const startedAt = performance.now();
    return new SessionSandbox(state, await connectOrRestore(state, options), options, startedAt);
  }

  /**
   * The sandbox, with enough life for a call of `callMs`; woken where it was paused, because a run that waited for an approval goes on without
   * a start.
   *
   * @throws `SandboxLifecycleError` the session has ended, or its sandbox.
   */
  async use(callMs = QUICK_MS): Promise<Sandbox> {
    this.#assertOpen();
    const isRunning = await this.#sandbox.isRunning();
    // Asked again, so that a call beside the end of the session does not wake what was paused for later.
    this.#assertOpen();
    if (!isRunning) await this.#wake();
    await this.#life.prolong(callMs);
    return this.#sandbox;
  }

  /** Whether it answers; false after the end of the session too. */
  async isRunning(): Promise<boolean> {
    return !this.#isEnded && (await this.#sandbox.isRunning());
  }

  /** Make it answer again, also after the end of the session. */
  async reopen(): Promise<void> {
    const startedAt = performance.now();
    this.#adopt(await connectOrRestore(this.#state, this.#options), startedAt);
    this.#isEnded = false;
  }

  /** Go on in a new sandbox with what a snapshot holds; the old one is killed. */
  async replaceBy(snapshotId: string): Promise<void> {
    const startedAt = performance.now();
    const old = this.#sandbox;
    this.#adopt(await createFromSnapshot(snapshotId, this.#options), startedAt);
    await old.kill();
  }

  /** End the session: kill the sandbox, or pause it. One that has ended is fine. */
  async end(how: "kill" | "pause"): Promise<void> {
    this.#isEnded = true;
    try {
      await (how === "pause" ? this.#sandbox.pause() : this.#sandbox.kill());
    } catch (error) {
      if (!hasEnded(error)) throw error;
    }
  }

  #assertOpen(): void {
    if (!this.#isEnded) return;
    throw new SandboxLifecycleError("the session has ended: create or resume one", { sandboxId: this.#state.sandboxId });
  }

  async #wake(): Promise<void> {
    const startedAt = performance.now();
    const { sandboxId } = this.#state;
    try {
      this.#adopt(await Sandbox.connect(sandboxId, toCreateOptions(this.#options)), startedAt);
    } catch (error) {
      if (!hasEnded(error)) throw error;
      throw new SandboxLifecycleError(
        `sandbox ${sandboxId} of the session has ended, and what was written since the last snapshot is gone: resume the session, or create one`,
        { sandboxId },
      );
    }
  }

  #adopt(sandbox: Sandbox, startedAt: number): void {
    this.#life = toLife(sandbox, this.#state, this.#options, startedAt);
  }

  get #sandbox(): Sandbox {
    return this.#life.sandbox;
  }
}

/** The life of a sandbox, which the state names from then on. */
function toLife(sandbox: Sandbox, state: AgentSandboxSessionState, options: AgentSandboxClientOptions, startedAt: number): SandboxLife {
  // Addresses of ports name the sandbox.
  if (sandbox.sandboxId !== state.sandboxId) delete state.exposedPorts;
  state.sandboxId = sandbox.sandboxId;
  return new SandboxLife(sandbox, lifeMsOf(options), startedAt + lifeMsOf(options));
}

async function connectOrRestore(state: AgentSandboxSessionState, options: AgentSandboxClientOptions): Promise<Sandbox> {
  try {
    return await Sandbox.connect(state.sandboxId, toCreateOptions(options));
  } catch (error) {
    if (!hasEnded(error)) throw error;
  }
  return restoreSnapshot(state, options, state.snapshotSpec ?? options.snapshot);
}
