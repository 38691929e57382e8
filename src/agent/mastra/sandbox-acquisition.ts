import type { SandboxStartOutcome } from "@mastra/core/workspace";
import { SandboxError } from "../../errors/sandbox-error.js";
import { Sandbox } from "../../sandbox/sandbox.js";
import { DEFAULT_LIFE_MS, hasEnded, SandboxLife } from "../sandbox-life.js";
import type { AgentSandboxOptions } from "./agent-sandbox-options.js";

/** Key of the metadata that holds the id of an `AgentSandbox`. */
const ID_KEY = "mastra-sandbox-id";

/** A sandbox that is ready for use, and how it came about. */
export interface Acquired {
  readonly life: SandboxLife;
  readonly outcome: SandboxStartOutcome;
}

/** Finds the sandbox of an `AgentSandbox`, or makes it. */
export class SandboxAcquisition {
  readonly #options: AgentSandboxOptions;
  readonly #lifeMs: number;

  constructor(options: AgentSandboxOptions) {
    this.#options = options;
    this.#lifeMs = options.create?.timeoutMs ?? DEFAULT_LIFE_MS;
  }

  /**
   * The sandbox `before` where it can still be joined, else the one that the options name, else a new one.
   *
   * @throws {@link SandboxNotFoundError} there is none with the `sandboxId` of the options.
   */
  async acquire(before: Sandbox | undefined, signal: AbortSignal | undefined): Promise<Acquired> {
    const { sandbox, sandboxId } = this.#options;
    if (sandbox !== undefined) {
      // Its life is its owner's business.
      return { life: new SandboxLife(await sandbox.connect({ signal }), 0, Number.POSITIVE_INFINITY), outcome: "connected" };
    }
    if (sandboxId !== undefined) return this.#join(sandboxId, signal);
    const again = await this.#tryToJoin(before?.sandboxId, signal);
    if (again !== undefined) return again;
    const found = await this.#tryToJoin(await this.find(signal), signal);
    if (found !== undefined) return found;
    return this.#create(signal);
  }

  /** Id of the sandbox that was made under the id of the options: the oldest, should there be several. */
  async find(signal: AbortSignal | undefined): Promise<string | undefined> {
    const { id, sandboxId, create } = this.#options;
    if (sandboxId !== undefined || id === undefined) return sandboxId;
    const query = { metadata: { [ID_KEY]: id }, state: ["running", "paused"] } as const;
    const [oldest] = await Sandbox.list({ ...create, query, order: "asc", limit: 1, signal }).nextItems();
    return oldest?.sandboxId;
  }

  async #create(signal: AbortSignal | undefined): Promise<Acquired> {
    const { id, create } = this.#options;
    const startedAt = performance.now();
    const template = await this.#checkpoint(signal);
    const made = await Sandbox.create({
      ...(id !== undefined && { lifecycle: { onTimeout: "pause", autoResume: true } }),
      ...create,
      ...(template !== undefined && { template }),
      ...(id !== undefined && { metadata: { ...create?.metadata, [ID_KEY]: id } }),
      timeoutMs: this.#lifeMs,
      signal,
    });
    const first = id === undefined ? undefined : await this.find(signal);
    // Where another program made one under the same id a moment earlier, everybody takes the oldest.
    const earlier = first === made.sandboxId ? undefined : await this.#tryToJoin(first, signal);
    if (earlier === undefined) return { life: new SandboxLife(made, this.#lifeMs, startedAt + this.#lifeMs), outcome: "created" };
    await made.kill();
    return earlier;
  }

  async #join(sandboxId: string, signal: AbortSignal | undefined): Promise<Acquired> {
    const sandbox = await Sandbox.connect(sandboxId, { ...this.#options.create, timeoutMs: this.#lifeMs, signal });
    // It may have more life than it was given here, which must not be shortened.
    const { endAt } = await sandbox.getInfo({ signal });
    const endsAt = performance.now() + (endAt.getTime() - Date.now());
    return { life: new SandboxLife(sandbox, this.#lifeMs, endsAt), outcome: "connected" };
  }

  async #tryToJoin(sandboxId: string | undefined, signal: AbortSignal | undefined): Promise<Acquired | undefined> {
    try {
      return sandboxId === undefined ? undefined : await this.#join(sandboxId, signal);
    } catch (error) {
      if (hasEnded(error) || isEnding(error)) return undefined;
      throw error;
    }
  }

  /** The snapshot that a new sandbox begins from. */
  async #checkpoint(signal: AbortSignal | undefined): Promise<string | undefined> {
    for (const name of [this.#options.checkpointName, this.#options.seedCheckpointName]) {
      if (name === undefined) continue;
      const [newest] = await Sandbox.listSnapshots({ ...this.#options.create, name, limit: 1, signal }).nextItems();
      if (newest !== undefined) return newest.snapshotId;
    }
    return undefined;
  }
}

/** A sandbox that is just being killed cannot be joined. */
function isEnding(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.reason === "failed_precondition";
}
