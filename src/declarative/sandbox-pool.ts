import { SandboxError } from "../errors/sandbox-error.js";
import { Sandbox, type SandboxCreateOptions } from "../sandbox/sandbox.js";

/** Which sandboxes a remote function runs in. */
export interface SandboxPoolOptions {
  /** One to use for every call; it is never killed. */
  readonly sandbox: Sandbox | undefined;
  /** How others are made. Their `timeoutMs` is counted anew with each call. */
  readonly create: SandboxCreateOptions & { readonly timeoutMs: number };
  /** Keep sandboxes between calls. */
  readonly keepAlive: boolean;
}

/** The sandboxes of one remote function: given, kept or made for a call. */
export class SandboxPool {
  readonly #options: SandboxPoolOptions;
  readonly #idle: Sandbox[] = [];
  #isClosed = false;
  /** Maps that are running, each of which keeps sandboxes until its end. */
  #holds = 0;

  constructor(options: SandboxPoolOptions) {
    this.#options = options;
  }

  /** Use a sandbox. One for which `use` fails with an error of this package, or is aborted, is not used again. */
  async use<T>(signal: AbortSignal | undefined, use: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const { sandbox: given } = this.#options;
    if (given !== undefined) return use(given);
    const sandbox = await this.#acquire(signal);
    let isUsable = true;
    try {
      return await use(sandbox);
    } catch (error) {
      isUsable = !signal?.aborted && !SandboxError.isInstance(error);
      throw error;
    } finally {
      if (isUsable && this.#keeps) this.#idle.push(sandbox);
      else await kill(sandbox);
    }
  }

  /** Keep sandboxes for as long as `action` takes, so that its calls share them. */
  async hold<T>(action: () => Promise<T>): Promise<T> {
    this.#holds += 1;
    try {
      return await action();
    } finally {
      this.#holds -= 1;
      if (!this.#keeps) await this.#killIdle();
    }
  }

  /** Kill what is kept; what is in use is killed when its call ends. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#killIdle();
  }

  get #keeps(): boolean {
    return this.#holds > 0 || (this.#options.keepAlive && !this.#isClosed);
  }

  async #acquire(signal: AbortSignal | undefined): Promise<Sandbox> {
    const { create } = this.#options;
    for (let kept = this.#idle.pop(); kept !== undefined; kept = this.#idle.pop()) {
      try {
        await kept.setTimeout(create.timeoutMs, { signal });
        return kept;
      } catch (error) {
        if (SandboxError.isInstance(error) && (error.reason === "sandbox_not_found" || error.reason === "sandbox_gone")) continue;
        await kill(kept);
        throw error;
      }
    }
    return Sandbox.create({ ...create, signal });
  }

  async #killIdle(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(kill));
  }
}

/** Where the platform cannot be reached, the end of its life ends the sandbox. */
async function kill(sandbox: Sandbox): Promise<void> {
  await sandbox.kill().catch(() => undefined);
}
