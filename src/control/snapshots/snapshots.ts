import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FailedPreconditionError, InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import { messageOf } from "../../shared/message-of.js";
import type { Driver } from "../drivers/driver.js";
import type { Journal } from "../journal.js";
import { layersOfSnapshot } from "../layer-users.js";
import type { Logger } from "../logger.js";
import { copyOf } from "../new-sandbox.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import type { StartTemplate, TemplateResolver } from "../template-resolver.js";
import { createTemplateId } from "../templates/template-id.js";
import { DEFAULT_TAG, parseTemplateReference } from "../templates/template-reference.js";
import type { TemplateBuild } from "../templates/template-store.js";
import { LOCAL_NAMESPACE, type SnapshotRecord, toSnapshotId } from "./snapshot-record.js";
import type { SnapshotFilter, SnapshotPosition, SnapshotStore } from "./snapshot-store.js";

export interface SnapshotsParts {
  readonly store: SnapshotStore;
  readonly driver: Pick<Driver, "list">;
  readonly journal: Journal;
  readonly logger: Logger;
  /** `<id>/` with `template.json` and what the sandbox wrote. */
  readonly snapshotsDir: string;
  readonly templates: TemplateResolver;
  /** Directories that templates stand on. */
  readonly templateLayers: () => ReadonlySet<string>;
}

/** A copy of a sandbox, or why there is none. */
export type ForkOutcome = { readonly record: SandboxRecord } | { readonly error: unknown };

const STAGED_PREFIX = ".new-";
const LAYER = "layer";
/** Events after which an instance and its layers are no longer used. */
const LAST_EVENTS: readonly string[] = ["killed", "expired", "died"];
/** The files of the instance go first. */
const SWEEP_DELAY_MS = 1_000;

/**
 * Copies of the files of sandboxes, each one more layer on the layers that its sandbox stands on, so that sandboxes made from it share it.
 *
 * Also the templates by reference: a snapshot is accepted wherever a template is.
 */
export class Snapshots implements TemplateResolver {
  readonly #parts: SnapshotsParts;
  /** Names in the directory that are being made or forked from. */
  readonly #pinned = new Set<string>();

  readonly #stopListening: () => void;
  #sweepTimer: NodeJS.Timeout | undefined;

  constructor(parts: SnapshotsParts) {
    this.#parts = parts;
    this.#stopListening = parts.journal.subscribe(({ event }) => {
      if (event !== undefined && LAST_EVENTS.includes(event)) this.#sweepSoon();
    });
  }

  /** Sweep no more. */
  close(): void {
    this.#stopListening();
    clearTimeout(this.#sweepTimer);
  }

  /** Find a template or snapshot. @throws {@link TemplateError} there is none; {@link InvalidArgumentError} not a reference. */
  resolve(reference: string): StartTemplate {
    const snapshot = this.find(reference) ?? this.#forked(reference);
    if (snapshot !== undefined) return this.#toTemplate(snapshot);
    return this.#parts.templates.resolve(reference);
  }

  /** A snapshot by the reference under which callers know it. */
  find(reference: string): SnapshotRecord | undefined {
    const { namespace, name, tag } = parseTemplateReference(reference);
    if (namespace === LOCAL_NAMESPACE) return this.#parts.store.findNamed(name, tag);
    const found = namespace === undefined ? this.#parts.store.get(name) : undefined;
    return found !== undefined && !found.isHidden && found.tag === tag ? found : undefined;
  }

  /**
   * Keep the files of a running sandbox.
   *
   * @throws {@link InvalidArgumentError} not a name; {@link SandboxNotFoundError}, {@link FailedPreconditionError} no such running sandbox;
   * {@link NotEnoughSpaceError} the disk is full; {@link FailedPreconditionError} too long a chain of snapshots.
   */
  async create(sandboxes: Sandboxes, sandboxId: string, name: string | undefined): Promise<SnapshotRecord> {
    const reference = name === undefined ? undefined : parseSnapshotName(name);
    const { snapshot } = await this.#capture(sandboxes, sandboxId, { ...reference, isHidden: false });
    this.#parts.journal.tell(sandboxId, "snapshotted", `a snapshot was made: ${toSnapshotId(snapshot)}`, {
      snapshotId: toSnapshotId(snapshot),
    });
    return snapshot;
  }

  /**
   * Make copies of a running sandbox, each with `timeoutMs` of life. One that fails does not undo the others.
   *
   * @throws {@link RateLimitError} the platform has room for none; errors of {@link create}.
   */
  async fork(sandboxes: Sandboxes, sandboxId: string, count: number, timeoutMs: number, signal: AbortSignal): Promise<ForkOutcome[]> {
    // Before their files are copied in vain.
    sandboxes.assertRoom();
    const { snapshot, source } = await this.#capture(sandboxes, sandboxId, { isHidden: true });
    this.#pinned.add(snapshot.id);
    const copies = Array.from({ length: count }, () => sandboxes.create(copyOf(source, snapshot.id, timeoutMs), signal));
    const outcomes = (await Promise.allSettled(copies)).map(
      (settled): ForkOutcome => (settled.status === "fulfilled" ? { record: settled.value } : { error: settled.reason }),
    );
    this.#pinned.delete(snapshot.id);
    for (const outcome of outcomes) {
      if ("record" in outcome) {
        const facts = { forkId: outcome.record.id, memory: "false" };
        this.#parts.journal.tell(
          sandboxId,
          "forked",
          `the sandbox was copied to ${outcome.record.id}, its files without its memory`,
          facts,
        );
      }
    }
    return outcomes;
  }

  /** One page, newest first. */
  list(filter: SnapshotFilter, after: SnapshotPosition | undefined, limit: number) {
    const records = this.#parts.store.list(filter, after, limit + 1);
    return { records: records.slice(0, limit), hasMore: records.length > limit };
  }

  /** Delete a snapshot; its files go once no sandbox stands on them. False when there is none. */
  async delete(reference: string): Promise<boolean> {
    const found = this.find(reference);
    if (found === undefined) return false;
    this.#parts.store.hide(found.id);
    await this.sweep();
    return true;
  }

  /** Remove the files of hidden snapshots that nothing stands on, and what killed platforms left half-made. */
  async sweep(): Promise<void> {
    const { store, driver, snapshotsDir, templateLayers } = this.#parts;
    if (!existsSync(snapshotsDir)) return;
    const hidden = store.all().filter((record) => record.isHidden);
    if (hidden.length > 0) {
      const used = new Set([...templateLayers(), ...(await driver.list()).flatMap(({ layers }) => layers)]);
      for (const record of hidden.filter(({ id }) => !this.#pinned.has(id))) {
        const own = join(this.#directoryOf(record.id), LAYER);
        const isBase = store.all().some((other) => other.id !== record.id && layersOfSnapshot(this.#directoryOf(other.id)).includes(own));
        if (used.has(own) || isBase) continue;
        rmSync(this.#directoryOf(record.id), { recursive: true, force: true });
        store.delete(record.id);
      }
    }
    const known = new Set(store.all().map(({ id }) => id));
    for (const name of readdirSync(snapshotsDir)) {
      if (!known.has(name) && !this.#pinned.has(name)) rmSync(join(snapshotsDir, name), { recursive: true, force: true });
    }
  }

  /** What a copy stood on goes soon after it, so that its contents need not even reach the disk. */
  #sweepSoon(): void {
    clearTimeout(this.#sweepTimer);
    this.#sweepTimer = setTimeout(() => {
      this.sweep().catch((error: unknown) => this.#parts.logger.warn("snapshots.sweep_failed", { message: messageOf(error) }));
    }, SWEEP_DELAY_MS).unref();
  }

  async #capture(sandboxes: Sandboxes, sandboxId: string, names: { name?: string; tag?: string; isHidden: boolean }) {
    const { snapshotsDir, store } = this.#parts;
    const id = createTemplateId();
    const stagedName = `${STAGED_PREFIX}${id}`;
    const staged = join(snapshotsDir, stagedName);
    const directory = this.#directoryOf(id);
    mkdirSync(snapshotsDir, { recursive: true, mode: 0o711 });
    this.#pinned.add(stagedName).add(id);
    try {
      mkdirSync(staged, { mode: 0o711 });
      const target = join(staged, LAYER);
      const { record: source, layer } = await sandboxes.capture(sandboxId, target);
      assertStackable(layer.layers.length);
      const build: TemplateBuild = {
        ...(source.start !== undefined && { start: source.start }),
        templateId: id,
        buildId: randomUUID(),
        hostIdBase: layer.hostIdBase,
        cpuCount: source.limits.cpuCount,
        memoryMb: Math.round(source.limits.memoryBytes / 2 ** 20),
        createdAt: new Date().toISOString(),
        recipe: `snapshot of ${sandboxId}`,
        layers: layer.layers.map((path) => (path === target ? LAYER : path)),
      };
      writeFileSync(join(staged, "template.json"), `${JSON.stringify(build, null, 2)}\n`);
      renameSync(staged, directory);
      const snapshot: SnapshotRecord = {
        id,
        name: names.name,
        tag: names.tag ?? DEFAULT_TAG,
        sandboxId,
        templateId: source.templateId,
        buildId: build.buildId,
        createdAt: new Date(build.createdAt),
        isHidden: names.isHidden,
        limits: source.limits,
      };
      store.insert(snapshot);
      return { snapshot, source };
    } finally {
      rmSync(staged, { recursive: true, force: true });
      this.#pinned.delete(stagedName);
      this.#pinned.delete(id);
    }
  }

  /** A snapshot that was made for a fork, by its bare id, which nobody outside learns. */
  #forked(reference: string): SnapshotRecord | undefined {
    const found = this.#parts.store.get(reference);
    return found?.isHidden === true && existsSync(this.#directoryOf(found.id)) ? found : undefined;
  }

  #toTemplate(record: SnapshotRecord): StartTemplate {
    const directory = this.#directoryOf(record.id);
    if (!existsSync(directory)) throw new TemplateError(`snapshot '${toSnapshotId(record)}' has lost its files; delete it`);
    return {
      templateId: record.isHidden ? record.templateId : record.id,
      buildId: record.buildId,
      alias: record.name,
      dir: directory,
      limits: record.limits,
      diskSizeMb: 0,
      start: this.#read(record.id)?.start,
    };
  }

  #read(id: string): TemplateBuild | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#directoryOf(id), "template.json"), "utf8")) as TemplateBuild;
    } catch {
      return undefined;
    }
  }

  #directoryOf(id: string): string {
    return join(this.#parts.snapshotsDir, id);
  }
}

/** Layers that the kernel stacks at most (`OVL_MAX_STACK` of overlayfs). */
const MAX_LAYERS = 500;

/** @throws {@link FailedPreconditionError} nothing could be started from a snapshot of so many layers. */
export function assertStackable(layerCount: number): void {
  if (layerCount <= MAX_LAYERS) return;
  throw new FailedPreconditionError(
    `the sandbox stands on a chain of ${layerCount - 1} snapshots and layers, and the kernel stacks ${MAX_LAYERS} at most: ` +
      "copy its files into a sandbox made from a template, and go on from there",
  );
}

function parseSnapshotName(text: string): { readonly name: string; readonly tag: string } {
  const { namespace, name, tag } = parseTemplateReference(text);
  if (namespace !== undefined && namespace !== LOCAL_NAMESPACE) {
    throw new InvalidArgumentError(`the name of a snapshot must have no namespace but "${LOCAL_NAMESPACE}", got "${namespace}"`);
  }
  return { name, tag };
}
