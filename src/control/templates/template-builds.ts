import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { FailedPreconditionError, InvalidArgumentError, ServiceBusyError, TemplateError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { messageOf } from "../../shared/message-of.js";
import type { Driver } from "../drivers/driver.js";
import { ConcurrencyGate } from "../drivers/oci/concurrency-gate.js";
import { findUsedLayers } from "../layer-users.js";
import { failureOf, type Logger } from "../logger.js";
import type { PlatformPaths } from "../paths.js";
import { PIDS_MAX, type TemplateResolver } from "../template-resolver.js";
import type { BuildRecord } from "./build-record.js";
import { type BuildNetwork, toRelativeLayers } from "./build-sandbox.js";
import type { BuildTable } from "./build-table.js";
import { createLayerStore, type LayerStore } from "./layer-store.js";
import { type BuildPlan, runBuild } from "./run-build.js";
import { createTemplateId } from "./template-id.js";
import { DEFAULT_TAG, parseTemplateReference } from "./template-reference.js";
import type { TemplateStore } from "./template-store.js";
import { UploadStore } from "./upload-store.js";

export interface TemplateBuildsParts {
  readonly paths: Pick<PlatformPaths, "templatesDir" | "sandboxesDir" | "snapshotsDir">;
  readonly store: TemplateStore;
  /** What a build can begin with: templates and snapshots. */
  readonly templates: TemplateResolver;
  readonly table: BuildTable;
  readonly driver: Pick<Driver, "create">;
  readonly network?: BuildNetwork | undefined;
  /** Signs upload tokens. */
  readonly secret: string;
  readonly logger: Logger;
}

/** What a build is asked for. */
export interface BuildRequest {
  readonly name: string;
  readonly tags: readonly string[];
  readonly cpuCount: number;
  readonly memoryMb: number;
}

/** Names that `abx setup` gives. */
const OWN_NAMES: readonly string[] = ["base", "code-interpreter-v1"];
const BUILDS_AT_ONCE = 2;
const STAGING_PREFIX = ".building-";
const WAITING_LIFE_MS = 24 * 3600_000;
const STOPPED = "the platform stopped during the build; start it again";

interface Running {
  readonly templateId: string;
  readonly cancel: AbortController;
  readonly settled: Promise<void>;
}

/** Builds templates; what a build is doing is in the table, what it made in the store. */
export class TemplateBuilds {
  readonly uploads: UploadStore;
  readonly #parts: TemplateBuildsParts;
  readonly #layers: LayerStore;
  readonly #gate = new ConcurrencyGate(BUILDS_AT_ONCE);
  readonly #running = new Map<string, Running>();
  readonly #owned = new Set<string>();
  /** Layers that builds began with, by build. */
  readonly #origins = new Map<string, readonly string[]>();
  #isClosing = false;

  constructor(parts: TemplateBuildsParts) {
    this.#parts = parts;
    this.#layers = createLayerStore(parts.paths.templatesDir);
    this.uploads = new UploadStore(parts.paths.templatesDir, parts.secret);
  }

  /** Builds that were started and have not ended. */
  get runningCount(): number {
    return this.#running.size;
  }

  /** Directories of layers that templates and builds under way stand on. */
  layersInUse(): ReadonlySet<string> {
    return new Set([...this.#parts.store.layersInUse(), ...[...this.#origins.values()].flat()]);
  }

  /** True while `id` is a sandbox of a build. */
  owns(id: string): boolean {
    return this.#owned.has(id);
  }

  /** End what an earlier platform left half-done, and remove what nothing needs any more. */
  recover(): void {
    const { table, paths } = this.#parts;
    for (const build of table.list()) {
      if (build.state === "building") table.setState(build.buildId, "error", { message: STOPPED, step: undefined });
      if (build.state === "building") rmSync(this.#stagingDir(build), { recursive: true, force: true });
      const isForgotten = build.state === "waiting" && Date.now() - build.createdAt.getTime() > WAITING_LIFE_MS;
      if (isForgotten) table.delete([build.buildId]);
    }
    if (existsSync(paths.templatesDir)) {
      this.uploads.prune();
      this.#layers.prune(this.#allLayersInUse());
    }
  }

  /**
   * Prepare a build.
   *
   * @throws {@link InvalidArgumentError} the name or a tag is malformed, or the name is one of the platform's own.
   */
  request({ name, tags, cpuCount, memoryMb }: BuildRequest): BuildRecord {
    const { store, table } = this.#parts;
    const reference = parseTemplateReference(name);
    if (reference.namespace !== undefined) throw new InvalidArgumentError(`name '${name}' has a namespace, and this platform has none`);
    if (OWN_NAMES.includes(reference.name)) {
      throw new InvalidArgumentError(`'${reference.name}' is built by abx setup; give your template another name`);
    }
    const named = /:/.test(name) ? [reference.tag] : [];
    const allTags = [...new Set([...named, ...tags.map((tag) => parseTemplateReference(`${reference.name}:${tag}`).tag)])];
    const pending = table.findByName(reference.name) ?? table.list(reference.name)[0];
    const known = store.find(reference.name)?.templateId ?? pending?.templateId;
    const now = new Date();
    const record: BuildRecord = {
      buildId: randomUUID(),
      templateId: known ?? createTemplateId(),
      name: reference.name === known ? undefined : reference.name,
      tags: allTags.length > 0 ? allTags : [DEFAULT_TAG],
      state: "waiting",
      cpuCount,
      memoryMb,
      createdAt: now,
      updatedAt: now,
      finishedAt: undefined,
      reason: undefined,
    };
    table.insert(record);
    return record;
  }

  /**
   * Start a build that waits; resolves at once.
   *
   * @throws {@link FailedPreconditionError} it was started before; {@link ServiceBusyError} the platform stops.
   */
  start(record: BuildRecord, plan: BuildPlan): void {
    if (this.#isClosing) throw new ServiceBusyError("the platform is stopping; start it again and repeat the call");
    if (record.state !== "waiting") {
      throw new FailedPreconditionError(`build ${record.buildId} is ${record.state}; only a build in waiting can be started`);
    }
    this.#parts.table.setState(record.buildId, "building");
    const cancel = new AbortController();
    const settled = this.#gate.run(() => this.#build(record, plan, cancel.signal)).finally(() => this.#running.delete(record.buildId));
    this.#running.set(record.buildId, { templateId: record.templateId, cancel, settled });
  }

  /**
   * Forget a template, its builds and what only they need.
   *
   * @throws {@link TemplateError} no such template; {@link InvalidArgumentError} it is one of the platform's own.
   */
  async delete(templateId: string): Promise<void> {
    const { store, table } = this.#parts;
    const named = store.find(templateId);
    const builds = table.list(templateId);
    if (named === undefined && builds.length === 0) throw new TemplateError(`template '${templateId}' not found`);
    const own = named?.aliases.find((alias) => OWN_NAMES.includes(alias));
    if (own !== undefined) throw new InvalidArgumentError(`template '${own}' is built by abx setup and cannot be deleted`);
    const running = [...this.#running.values()].filter((build) => build.templateId === templateId);
    for (const { cancel } of running) cancel.abort(new FailedPreconditionError("the template was deleted", undefined, "aborted"));
    await Promise.all(running.map(({ settled }) => settled));
    await store.forget(templateId);
    table.delete(builds.map(({ buildId }) => buildId));
    this.uploads.remove(templateId);
    store.prune(this.#sandboxLayers(), templateId);
    this.#layers.prune(this.#allLayersInUse());
  }

  /** End every build with `error`. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const running = [...this.#running.values()];
    for (const { cancel } of running) cancel.abort(new ServiceBusyError(STOPPED));
    await Promise.all(running.map(({ settled }) => settled));
  }

  async #build(record: BuildRecord, plan: BuildPlan, signal: AbortSignal): Promise<void> {
    const { store, templates, table, driver, network, logger } = this.#parts;
    const { buildId, templateId, cpuCount, memoryMb } = record;
    const stagingDir = this.#stagingDir(record);
    let step = "base";
    const log = (entry: { level: "debug" | "info" | "warn" | "error"; message: string; step: string | undefined }) =>
      table.addLog(buildId, { timestamp: new Date(), ...entry });
    try {
      signal.throwIfAborted();
      const built = await runBuild(record, plan, {
        templates,
        layers: this.#layers,
        uploads: this.uploads,
        sandboxes: {
          driver,
          network,
          owned: this.#owned,
          limits: { cpuCount, memoryBytes: memoryMb * 1024 * 1024, pidsMax: PIDS_MAX },
          stagingDir,
        },
        log,
        onStep: (next) => {
          step = next;
        },
        onOrigin: (layers) => this.#origins.set(buildId, layers),
        signal,
      });
      mkdirSync(stagingDir, { recursive: true, mode: 0o711 });
      const layers = toRelativeLayers(stagingDir, built.layers);
      const { hostIdBase, start } = built;
      const build = { templateId, buildId, hostIdBase, cpuCount, memoryMb, createdAt: new Date().toISOString(), recipe: "", layers, start };
      await store.publish(stagingDir, build, { aliases: record.name === undefined ? [] : [record.name], tags: record.tags });
      log({ level: "info", message: "the template is ready", step: "finalize" });
      table.setState(buildId, "ready");
      logger.info("template.built", { templateId, buildId });
    } catch (error) {
      const message = SandboxError.isInstance(error) ? error.message : `the platform failed: ${messageOf(error)}`;
      log({ level: "error", message, step });
      table.setState(buildId, "error", { message, step });
      logger.warn("template.build_failed", { templateId, buildId, step, ...failureOf(error) });
    } finally {
      this.#origins.delete(buildId);
      rmSync(stagingDir, { recursive: true, force: true });
      this.#removeIfEmpty(templateId);
    }
  }

  #removeIfEmpty(templateId: string): void {
    const directory = join(this.#parts.paths.templatesDir, templateId);
    if (existsSync(directory) && readdirSync(directory).length === 0) rmSync(directory, { recursive: true });
  }

  #stagingDir({ templateId, buildId }: Pick<BuildRecord, "templateId" | "buildId">): string {
    return join(this.#parts.paths.templatesDir, templateId, `${STAGING_PREFIX}${buildId}`);
  }

  #sandboxLayers(): ReadonlySet<string> {
    return findUsedLayers(this.#parts.paths);
  }

  #allLayersInUse(): ReadonlySet<string> {
    return new Set([...this.layersInUse(), ...this.#sandboxLayers()]);
  }
}
