import { FailedPreconditionError, NotFoundError } from "../errors/error-classes.js";
import { Sandbox, type SandboxCreateOptions } from "../sandbox/sandbox.js";
import { DEFAULT_LIFE_MS, hasEnded, SandboxLife } from "./sandbox-life.js";

/** Which sandboxes the tools of one conversation use. */
export interface SandboxSessionOptions {
  /** One that is there already; it is the default, and is never killed by the end of the session. */
  readonly sandbox?: Sandbox | undefined;
  /** How sandboxes are made. Their `timeoutMs` is counted anew with each use. */
  readonly create?: Omit<SandboxCreateOptions, "signal"> | undefined;
  /** Sandboxes that the session may have at a time. @defaultValue 5 */
  readonly maxSandboxes?: number | undefined;
}

const DEFAULT_MAX_SANDBOXES = 5;

/**
 * The sandboxes of one conversation with a model. The default one is made when it is first needed; use keeps sandboxes alive, and the end of
 * the session kills those it made. A model reaches no others.
 */
export class SandboxSession implements AsyncDisposable {
  readonly #options: SandboxSessionOptions;
  readonly #members = new Map<string, SandboxLife>();
  readonly #lifeMs: number;
  #default: Promise<Sandbox> | undefined;
  /** Those that are being made, which count too. */
  readonly #creations = new Set<Promise<Sandbox>>();
  #isClosed = false;

  constructor(options: SandboxSessionOptions = {}) {
    this.#options = options;
    this.#lifeMs = options.create?.timeoutMs ?? DEFAULT_LIFE_MS;
    if (options.sandbox !== undefined) this.#default = Promise.resolve(options.sandbox);
  }

  /** Ids of the sandboxes that a model can name. */
  get sandboxIds(): readonly string[] {
    const { sandbox } = this.#options;
    return [...(sandbox === undefined ? [] : [sandbox.sandboxId]), ...this.#members.keys()];
  }

  /** The default sandbox where there is one already. */
  async current(): Promise<Sandbox | undefined> {
    return this.#default?.catch(() => undefined);
  }

  /**
   * Do something with the sandbox of this id, or the default one, which has enough life for a call of `callMs`. One that turns out to have
   * ended is forgotten, so that the next call gets a new one.
   *
   * @throws {@link NotFoundError} the session has none with this id; {@link FailedPreconditionError} it has ended.
   */
  async use<T>(sandboxId: string | undefined, callMs: number, action: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new FailedPreconditionError("the session has ended");
    const sandbox = sandboxId === undefined ? await (this.#default ?? this.create()) : this.#find(sandboxId);
    try {
      await this.#members.get(sandbox.sandboxId)?.prolong(callMs);
      return await action(sandbox);
    } catch (error) {
      if (hasEnded(error)) await this.#forget(sandbox);
      throw error;
    }
  }

  /** Make a sandbox, which becomes the default one. */
  async create(more: Pick<SandboxCreateOptions, "template" | "envs"> = {}): Promise<Sandbox> {
    const creation = this.#create(more);
    const before = this.#default;
    this.#default = creation;
    this.#creations.add(creation);
    try {
      return await creation;
    } catch (error) {
      if (this.#default === creation) this.#default = before;
      throw error;
    } finally {
      this.#creations.delete(creation);
    }
  }

  /** Kill a sandbox of the session, the default one without an id. False when there was none, or it had ended. */
  async kill(sandboxId?: string): Promise<boolean> {
    const sandbox = sandboxId === undefined ? await this.current() : this.#find(sandboxId);
    if (sandbox === undefined) return false;
    if (sandbox === this.#options.sandbox) {
      throw new FailedPreconditionError("this sandbox was given to the session, which may not kill it");
    }
    await this.#forget(sandbox);
    return sandbox.kill();
  }

  /** Kill every sandbox that the session made, also one that is just being made. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#creations);
    await Promise.all([...this.#members.values()].map(({ sandbox }) => sandbox.kill().catch(() => undefined)));
    this.#members.clear();
  }

  /** The same as {@link SandboxSession.close}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #create(more: Pick<SandboxCreateOptions, "template" | "envs">): Promise<Sandbox> {
    const maximum = this.#options.maxSandboxes ?? DEFAULT_MAX_SANDBOXES;
    if (this.#isClosed) throw new FailedPreconditionError("the session has ended");
    if (this.#members.size + this.#creations.size >= maximum) {
      throw new FailedPreconditionError(`the session has ${maximum} sandboxes already, which is its limit: end one with kill_sandbox`);
    }
    const { create } = this.#options;
    const startedAt = performance.now();
    const sandbox = await Sandbox.create({
      ...create,
      ...(more.template !== undefined && { template: more.template }),
      envs: { ...create?.envs, ...more.envs },
      timeoutMs: this.#lifeMs,
    });
    this.#members.set(sandbox.sandboxId, new SandboxLife(sandbox, this.#lifeMs, startedAt + this.#lifeMs));
    return sandbox;
  }

  #find(sandboxId: string): Sandbox {
    const { sandbox } = this.#options;
    const found = sandbox?.sandboxId === sandboxId ? sandbox : this.#members.get(sandboxId)?.sandbox;
    if (found !== undefined) return found;
    const known = this.sandboxIds.join(", ") || "none yet";
    throw new NotFoundError(
      `the session has no sandbox ${JSON.stringify(sandboxId)}; it has: ${known}. Leave sandbox_id out for the default one`,
    );
  }

  async #forget(sandbox: Sandbox): Promise<void> {
    this.#members.delete(sandbox.sandboxId);
    if ((await this.current()) === sandbox && sandbox !== this.#options.sandbox) this.#default = undefined;
  }
}
