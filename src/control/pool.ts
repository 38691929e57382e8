import { messageOf } from "../shared/message-of.js";
import { type DaemonInit, initDaemon } from "./daemon-client.js";
import { runDaemonCommand } from "./daemon-command.js";
import type { Driver, Instance } from "./drivers/driver.js";
import { Lifeline } from "./lifeline.js";
import type { Logger } from "./logger.js";
import { createSandboxId } from "./sandbox-id.js";
import { SandboxLink } from "./sandbox-link.js";
import type { StartTemplate, TemplateResolver } from "./template-resolver.js";

/** A started sandbox that belongs to nobody yet; its id becomes the sandbox's id. */
export interface PoolEntry {
  readonly instance: Instance;
  readonly lifeline: Lifeline;
  /** Holds an open connection already. */
  readonly link: SandboxLink;
}

export interface WarmPoolOptions {
  readonly driver: Pick<Driver, "create">;
  readonly templates: TemplateResolver;
  readonly logger: Logger;
  /** Template that is kept warm. */
  readonly template: string;
  /** Entries to keep; 0 turns the pool off. */
  readonly size: number;
  /** Milliseconds without a creation before the pool fills up again, so that it never competes with the request that emptied it. */
  readonly refillDelayMs: number;
  /** True while a creation is under way. */
  readonly isBusy: () => boolean;
  /** What most sandboxes are told at their creation: an entry is told ahead, and has only to take what differs. */
  readonly init: (id: string) => Pick<DaemonInit, "egress">;
}

const READY_TIMEOUT_MS = 15_000;
/** Commands that an entry runs before it is handed over; the first ones take several times as long as all later ones. */
const EXERCISE_RUNS = 4;
const EXERCISE_TIMEOUT_MS = 10_000;
/** How often a fill waits for creations under way; a steady stream of them must not keep the pool empty. */
const MAX_DEFERRALS = 3;
/** After a failed fill (no template yet, no runtime) the next try waits this long. */
const RETRY_MS = 30_000;

interface Warm extends PoolEntry {
  readonly buildId: string;
}

/** Keeps a few sandboxes of one template running, so that a creation only has to hand one over. */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #ready: Warm[] = [];
  /** Ids from before the start until after the end of every instance of the pool. */
  readonly #owned = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #deferrals = 0;
  #isClosed = false;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
  }

  /** Begin to fill, a moment later. */
  start(): void {
    this.#schedule(this.#options.refillDelayMs);
  }

  /** Entries that can be taken now. */
  get readyCount(): number {
    return this.#ready.length;
  }

  /** True while `id` is an instance of the pool. */
  owns(id: string): boolean {
    return this.#owned.has(id);
  }

  /** Hand over an entry of exactly this build, or `undefined` when there is none. */
  take(template: StartTemplate): PoolEntry | undefined {
    const index = this.#ready.findIndex((entry) => entry.buildId === template.buildId);
    const [entry] = index < 0 ? [] : this.#ready.splice(index, 1);
    if (entry !== undefined) this.#owned.delete(entry.instance.id);
    this.#schedule(this.#options.refillDelayMs);
    return entry;
  }

  /** Destroy every entry. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#filling;
    await Promise.all(this.#ready.splice(0).map((entry) => this.#discard(entry)));
  }

  #schedule(delayMs: number): void {
    if (this.#isClosed || this.#options.size === 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#filling ??= this.#fill().finally(() => {
        this.#filling = undefined;
      });
    }, delayMs).unref();
  }

  async #fill(): Promise<void> {
    const { templates, template, size, refillDelayMs, isBusy, logger } = this.#options;
    try {
      const build = templates.resolve(template);
      await this.#dropOtherBuilds(build.buildId);
      if (this.#ready.length >= size) return;
      while (!this.#isClosed && this.#ready.length < size) {
        if (isBusy() && this.#deferrals < MAX_DEFERRALS) {
          this.#deferrals++;
          this.#schedule(refillDelayMs);
          return;
        }
        this.#deferrals = 0;
        await this.#add(build);
      }
      if (this.#ready.length >= size) logger.info("pool.filled", { ready: this.#ready.length });
    } catch (error) {
      logger.warn("pool.fill_failed", { message: messageOf(error), retryAfterMs: RETRY_MS });
      this.#schedule(RETRY_MS);
    }
  }

  async #add(build: StartTemplate): Promise<void> {
    const id = createSandboxId();
    this.#owned.add(id);
    let instance: Instance | undefined;
    try {
      instance = await this.#options.driver.create({ id, templateDir: build.dir, limits: build.limits });
      await initDaemon(instance, { sandboxId: id, templateId: build.templateId, envVars: {}, ...this.#options.init(id) }, READY_TIMEOUT_MS);
    } catch (error) {
      // Given up in any case, so that the reaper takes what cannot be destroyed now.
      this.#owned.delete(id);
      await instance?.destroy();
      throw error;
    }
    const link = new SandboxLink(instance);
    const lifeline = new Lifeline(instance, () => this.#replaceDead(id));
    await this.#exercise(link, build);
    this.#ready.push({ instance, buildId: build.buildId, lifeline, link });
    this.#options.logger.debug("pool.added", { sandboxId: id, ready: this.#ready.length });
  }

  /** Run what a client runs first, by the way that it takes: code is compiled, files are read and a connection is open afterwards. */
  async #exercise(link: SandboxLink, build: StartTemplate): Promise<void> {
    const args = ["/bin/bash", "-l", "-c", "true"];
    const signal = AbortSignal.timeout(EXERCISE_TIMEOUT_MS);
    try {
      for (let run = 0; run < EXERCISE_RUNS; run += 1) {
        await runDaemonCommand(link, { args, user: build.start?.user ?? "user", timeoutMs: EXERCISE_TIMEOUT_MS, signal });
      }
    } catch (error) {
      // A template without a shell or without the user serves as well; a dead daemon is what the lifeline reports.
      this.#options.logger.debug("pool.exercise_failed", { sandboxId: link.sandboxId, message: messageOf(error) });
    }
  }

  #replaceDead(id: string): void {
    const index = this.#ready.findIndex((entry) => entry.instance.id === id);
    if (index < 0) return;
    this.#options.logger.warn("pool.entry_died", { sandboxId: id });
    for (const entry of this.#ready.splice(index, 1)) void this.#discard(entry);
    this.#schedule(this.#options.refillDelayMs);
  }

  async #dropOtherBuilds(buildId: string): Promise<void> {
    const stale = this.#ready.filter((entry) => entry.buildId !== buildId);
    for (const entry of stale) {
      this.#ready.splice(this.#ready.indexOf(entry), 1);
      await this.#discard(entry);
    }
  }

  async #discard(entry: Warm): Promise<void> {
    entry.lifeline.close();
    entry.link.sever();
    try {
      await entry.instance.destroy();
    } catch (error) {
      // The reaper finds the instance, since nobody owns it any more.
      this.#options.logger.error("pool.destroy_failed", { sandboxId: entry.instance.id, message: messageOf(error) });
    }
    this.#owned.delete(entry.instance.id);
  }
}
