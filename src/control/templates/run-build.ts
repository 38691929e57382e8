import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { type DaemonCommand, runDaemonCommand } from "../daemon-command.js";
import { uploadToDaemon } from "../daemon-upload.js";
import type { TemplateResolver } from "../template-resolver.js";
import { startTemplatePrograms } from "../template-start.js";
import { afterStep, type BuildContext, startContext, toTemplateStart } from "./build-context.js";
import { type BuildOrigin, type BuildSource, openOrigin } from "./build-origin.js";
import type { BuildLogEntry, BuildRecord } from "./build-record.js";
import { type BuildSandbox, type BuildSandboxOptions, openBuildSandbox } from "./build-sandbox.js";
import { type BuildStep, describeStep } from "./build-step.js";
import { COPY_SCRIPT } from "./copy-script.js";
import type { CachedStep, LayerStore } from "./layer-store.js";
import { OutputLines } from "./output-lines.js";
import { PROVISION_SCRIPT } from "./provision-script.js";
import type { TemplateStart } from "./template-store.js";
import type { UploadStore } from "./upload-store.js";

/** What a build does. */
export interface BuildPlan {
  readonly source: BuildSource;
  readonly steps: readonly BuildStep[];
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
  /** Take nothing from the cache. */
  readonly isForced: boolean;
}

export interface RunBuildParts {
  /** Snapshots included. */
  readonly templates: TemplateResolver;
  readonly layers: LayerStore;
  readonly uploads: UploadStore;
  /** Everything about the sandboxes of the build but what the origin decides. */
  readonly sandboxes: Omit<BuildSandboxOptions, "hostIdBase" | "templateId">;
  readonly log: (entry: Omit<BuildLogEntry, "timestamp">) => void;
  /** Called when the build comes to another place: `base`, the number of a step, `finalize`. */
  readonly onStep: (step: string) => void;
  /** Called with the layers that the build begins with, which must stay until it ends. */
  readonly onOrigin: (layers: readonly string[]) => void;
  readonly signal: AbortSignal;
}

/** A finished build that is not published yet. */
export interface BuiltLayers {
  readonly hostIdBase: number;
  readonly layers: readonly string[];
  readonly start: TemplateStart;
}

const READY_TIMEOUT_MS = 5 * 60_000;
const MAKE_DIRECTORY = `set -e
make_directory() { [ -d "$1" ] || { make_directory "$(dirname -- "$1")"; mkdir -- "$1"; chown -- "$2" "$1"; }; }
make_directory "$1" "$2"`;

/**
 * Do the steps of a build, each inside a sandbox of its own on the layers before it.
 *
 * @throws {@link FailedPreconditionError} a step failed; errors of the origin; `signal.reason`. Nothing but cached layers is left.
 */
export async function runBuild(record: BuildRecord, plan: BuildPlan, parts: RunBuildParts): Promise<BuiltLayers> {
  const run = new BuildRun(record, plan, parts);
  return run.run();
}

class BuildRun {
  readonly #record: BuildRecord;
  readonly #plan: BuildPlan;
  readonly #parts: RunBuildParts;
  readonly #layers: string[] = [];
  #step = "base";
  #isForced: boolean;
  #hostIdBase = 0;

  constructor(record: BuildRecord, plan: BuildPlan, parts: RunBuildParts) {
    this.#record = record;
    this.#plan = plan;
    this.#parts = parts;
    this.#isForced = plan.isForced;
  }

  async run(): Promise<BuiltLayers> {
    const { steps, startCommand, readyCommand } = this.#plan;
    this.#enter("base");
    const origin = await this.#openOrigin();
    let context = startContext(origin.key, origin.start);
    for (const [index, step] of steps.entries()) {
      this.#enter(String(index + 1));
      context = await this.#do(step, context, `[${index + 1}/${steps.length}] ${describeStep(step)}`);
    }
    this.#enter("finalize");
    const start = toTemplateStart(context, {
      startCommand: startCommand ?? origin.start?.startCommand,
      readyCommand: readyCommand ?? (startCommand === undefined ? origin.start?.readyCommand : undefined),
    });
    await this.#check(start);
    return { hostIdBase: this.#hostIdBase, layers: this.#layers, start };
  }

  async #openOrigin(): Promise<BuildOrigin> {
    const { templates, layers, signal, onOrigin } = this.#parts;
    const { source } = this.#plan;
    this.#log("info", `FROM ${source.kind === "template" ? source.reference : source.image}`);
    const origin = await openOrigin(source, { templates, layers, signal, onProgress: (line) => this.#log("info", line) });
    onOrigin(origin.layers);
    this.#hostIdBase = origin.hostIdBase;
    this.#layers.push(...origin.layers);
    if (!origin.isForeign) return origin;
    const key = createHash("sha256")
      .update(JSON.stringify([origin.key, PROVISION_SCRIPT]))
      .digest("hex");
    const command = { args: ["/bin/sh", "-c", PROVISION_SCRIPT], user: "root", cwd: "/" };
    this.#add(layers.find(key) ?? (await this.#makeLayer(key, (sandbox) => this.#run(sandbox, command, "preparing the image"))));
    return { ...origin, key };
  }

  async #do(step: BuildStep, context: BuildContext, title: string): Promise<BuildContext> {
    const next = afterStep(context, step);
    this.#isForced ||= step.isForced;
    if (step.type === "ENV") {
      this.#log("info", title);
      return next;
    }
    const cached = this.#isForced ? undefined : this.#parts.layers.find(next.key);
    this.#log("info", cached === undefined ? title : `CACHED ${title}`);
    this.#add(cached ?? (await this.#makeLayer(next.key, (sandbox) => this.#perform(step, context, next, sandbox))));
    return next;
  }

  async #perform(
    step: Exclude<BuildStep, { type: "ENV" }>,
    context: BuildContext,
    next: BuildContext,
    sandbox: BuildSandbox,
  ): Promise<void> {
    switch (step.type) {
      case "RUN":
        return this.#run(sandbox, {
          args: ["/bin/bash", "-l", "-c", step.command],
          user: step.user ?? context.user,
          cwd: context.workdir,
          envs: context.envs,
        });
      case "COPY":
        return this.#copy(step, context, sandbox);
      case "WORKDIR":
        return this.#run(sandbox, {
          args: ["/bin/bash", "-c", MAKE_DIRECTORY, "workdir", next.workdir, toOwner(context.user)],
          user: "root",
          cwd: "/",
        });
      case "USER":
        // The daemon itself says that there is no such account.
        return this.#run(sandbox, { args: ["/bin/sh", "-c", ":"], user: step.name, cwd: "/" });
    }
  }

  async #copy(step: BuildStep & { type: "COPY" }, context: BuildContext, sandbox: BuildSandbox): Promise<void> {
    const archive = this.#parts.uploads.find(this.#record.templateId, step.filesHash);
    if (archive === undefined) throw new FailedPreconditionError(`the files of COPY ${step.source} were not uploaded`);
    const place = `/tmp/copy-${step.filesHash}.tar`;
    await uploadToDaemon(sandbox.link, archive, place, this.#parts.signal);
    const args = [place, step.source, step.destination, toOwner(step.owner ?? context.user), step.mode ?? "", context.workdir];
    await this.#run(sandbox, { args: ["/bin/bash", "-c", COPY_SCRIPT, "copy", ...args], user: "root", cwd: "/" });
  }

  /** A last sandbox shows that the template works: its user, its directory, its programs. */
  async #check(start: TemplateStart): Promise<void> {
    const { signal } = this.#parts;
    const sandbox = await this.#open();
    try {
      const { user = "user", workdir = "/", envs } = start;
      await this.#run(sandbox, { args: ["/bin/bash", "-c", ":"], user, cwd: workdir, envs }, "the default user and directory");
      if (start.startCommand !== undefined) this.#log("info", `starting: ${start.startCommand}`);
      if (start.readyCommand !== undefined) this.#log("info", `waiting until ready: ${start.readyCommand}`);
      const lines = new OutputLines((line) => this.#log("debug", line));
      await startTemplatePrograms(sandbox.link, start, {
        timeoutMs: READY_TIMEOUT_MS,
        signal,
        onOutput: (bytes, stream) => lines.add(bytes, stream),
      });
      lines.end();
    } finally {
      await sandbox.discard();
    }
  }

  async #makeLayer(key: string, work: (sandbox: BuildSandbox) => Promise<void>): Promise<CachedStep> {
    const { layers } = this.#parts;
    const sandbox = await this.#open();
    const staged = layers.stage();
    try {
      try {
        await work(sandbox);
      } catch (error) {
        await sandbox.discard();
        throw error;
      }
      return layers.keep(key, (await sandbox.harvest(staged)) ? staged : undefined);
    } finally {
      rmSync(staged, { recursive: true, force: true });
    }
  }

  #open(): Promise<BuildSandbox> {
    const { sandboxes, signal } = this.#parts;
    return openBuildSandbox({ ...sandboxes, templateId: this.#record.templateId, hostIdBase: this.#hostIdBase }, this.#layers, signal);
  }

  async #run(sandbox: BuildSandbox, command: Omit<DaemonCommand, "signal" | "onOutput">, what?: string): Promise<void> {
    const lines = new OutputLines((line, stream) => this.#log(stream === "stderr" ? "warn" : "info", line));
    const { exitCode, status } = await runDaemonCommand(sandbox.link, {
      ...command,
      signal: this.#parts.signal,
      onOutput: (output, stream) => lines.add(output, stream),
    });
    lines.end();
    if (exitCode !== 0) {
      const lastLine = lines.lastLine === undefined ? "" : `: ${lines.lastLine}`;
      throw new FailedPreconditionError(`${what === undefined ? "the command" : what} failed with ${status}${lastLine}`);
    }
  }

  #add({ layer }: CachedStep): void {
    if (layer !== undefined) this.#layers.push(layer);
  }

  #enter(step: string): void {
    this.#parts.signal.throwIfAborted();
    this.#step = step;
    this.#parts.onStep(step);
  }

  #log(level: BuildLogEntry["level"], message: string): void {
    this.#parts.log({ level, message, step: this.#step });
  }
}

/** `chown` takes the group of the account for `name:`; a bare number is the group too. */
function toOwner(owner: string): string {
  if (owner.includes(":")) return owner;
  return /^\d+$/.test(owner) ? `${owner}:${owner}` : `${owner}:`;
}
