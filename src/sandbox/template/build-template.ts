import { openTemplateContext } from "#template-files";
import { FileUploadError } from "../../errors/build-error.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import {
  type BuildStart,
  type RequestedBuild,
  type TemplateBuildStatus,
  type TemplateClient,
  toBuildError,
} from "../../protocol/template-client.js";
import { pause } from "../../shared/pause.js";
import type { RequestOptions } from "../../transport/config.js";
import { type BuildLogger, LogEntry } from "./build-log.js";
import type { TemplateContext } from "./template-files-types.js";
import type { TemplateDefinition, TemplateStep } from "./template-step.js";

/** How a template is built. */
export interface BuildSettings {
  readonly tags?: readonly string[] | undefined;
  /** CPUs of its sandboxes. @defaultValue the server's, 2 */
  readonly cpuCount?: number | undefined;
  /** Memory of its sandboxes in MiB. @defaultValue the server's, 1024 */
  readonly memoryMB?: number | undefined;
  /** Free disk in MiB that its sandboxes should have after the build. */
  readonly minFreeDiskMb?: number | undefined;
  /** Do every step anew. @defaultValue false */
  readonly skipCache?: boolean | undefined;
  readonly onBuildLogs?: BuildLogger | undefined;
}

/** A build, for later questions. */
export interface BuildInfo {
  readonly templateId: string;
  readonly buildId: string;
  readonly name: string;
  /** The name again. */
  readonly alias: string;
  readonly tags: readonly string[];
}

const POLL_MS = 200;
/** Polls in a row that may fail for reasons that pass. */
const MAX_FAILED_POLLS = 5;
const FINAL: readonly string[] = ["ready", "error"];

/** Ask for a build, send its files and start it. */
export async function startBuild(
  client: TemplateClient,
  definition: TemplateDefinition,
  name: string,
  settings: BuildSettings,
  options: RequestOptions,
): Promise<BuildInfo> {
  const say = logTo(settings.onBuildLogs);
  say("info", `Requesting build for template: ${name}`);
  const { tags, cpuCount, memoryMB, minFreeDiskMb } = settings;
  const build = await client.request(
    {
      name,
      ...(tags !== undefined && { tags: [...tags] }),
      ...(cpuCount !== undefined && { cpuCount }),
      ...(memoryMB !== undefined && { memoryMB }),
      ...(minFreeDiskMb !== undefined && { minFreeDiskMb }),
    } as Parameters<TemplateClient["request"]>[0], // the generated type asks for fields that have a default
    options,
  );
  say("info", `Template created with ID: ${build.templateId}, Build ID: ${build.buildId}`);
  const hashes = await uploadFiles(client, definition, build, say, options);
  say("info", "Starting building...");
  await client.start(build, toBuildStart(definition, hashes, settings.skipCache === true), options);
  return { templateId: build.templateId, buildId: build.buildId, name, alias: name, tags: build.tags };
}

/** Follow a build to its end. @throws {@link BuildError} it failed; its stack leads to the call of the builder that did. */
export async function waitForBuild(
  client: TemplateClient,
  definition: TemplateDefinition,
  build: BuildInfo,
  settings: BuildSettings,
  options: RequestOptions,
): Promise<void> {
  settings.onBuildLogs?.(new LogEntry(new Date(), "info", "Waiting for logs..."));
  let offset = 0;
  let failures = 0;
  for (;;) {
    options.signal?.throwIfAborted();
    let status: TemplateBuildStatus | undefined;
    try {
      status = await client.status(build, offset, options);
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!SandboxError.isInstance(error) || !error.isRetryable || failures >= MAX_FAILED_POLLS) throw error;
    }
    if (status !== undefined) {
      offset += status.logEntries.length;
      for (const { timestamp, level, message } of status.logEntries) settings.onBuildLogs?.(new LogEntry(timestamp, level, message));
      // After the end the rest of the log is read, page by page.
      if (FINAL.includes(status.status)) {
        if (status.logEntries.length > 0) continue;
        if (status.status === "error") throw withStepStack(status, definition);
        return;
      }
    }
    await pause(POLL_MS, options.signal);
  }
}

/** The wire form of a template. */
export function toBuildStart(definition: TemplateDefinition, hashes: ReadonlyMap<TemplateStep, string>, skipCache: boolean): BuildStart {
  const { source, startCommand, readyCommand } = definition;
  return {
    ...source,
    force: skipCache || definition.force,
    steps: definition.steps.map((step) => {
      const filesHash = hashes.get(step);
      return { type: step.type, args: [...step.args], force: step.force, ...(filesHash !== undefined && { filesHash }) };
    }),
    ...(startCommand !== undefined && { startCmd: startCommand }),
    ...(readyCommand !== undefined && { readyCmd: readyCommand }),
  } as BuildStart; // the generated type gives an absent registry no undefined
}

/** Hashes of the files of every COPY step. */
export async function hashFiles(definition: TemplateDefinition): Promise<Map<TemplateStep, string>> {
  const hashes = new Map<TemplateStep, string>();
  const copies = definition.steps.filter(({ type }) => type === "COPY");
  if (copies.length === 0) return hashes;
  const context = openContext(definition);
  for (const step of copies) hashes.set(step, await atStep(step, () => context.hash(toCopySource(step))));
  return hashes;
}

type Say = (level: "info", message: string) => void;

async function uploadFiles(
  client: TemplateClient,
  definition: TemplateDefinition,
  build: RequestedBuild,
  say: Say,
  options: RequestOptions,
): Promise<Map<TemplateStep, string>> {
  const hashes = await hashFiles(definition);
  if (hashes.size === 0) return hashes;
  const context = openContext(definition);
  const sent = new Set<string>();
  for (const [step, hash] of hashes) {
    const [source = ""] = step.args;
    if (sent.has(hash)) continue;
    sent.add(hash);
    const { isPresent, url, headers } = await client.files(build.templateId, hash, options);
    if ((isPresent && step.copy?.forceUpload !== true) || url === undefined) {
      say("info", `Skipping upload of '${source}', already cached`);
      continue;
    }
    await atStep(step, async () => {
      const archive = await context.pack(toCopySource(step), { gzip: step.copy?.gzip !== false });
      try {
        await client.upload({ url, headers }, archive, { signal: options.signal });
      } finally {
        await archive.dispose();
      }
    });
    say("info", `Uploaded '${source}'`);
  }
  say("info", "All file uploads completed");
  return hashes;
}

function openContext({ contextPath, ignorePatterns, stack }: TemplateDefinition): TemplateContext {
  return openTemplateContext({ contextPath, ignorePatterns, stack });
}

function toCopySource({ args: [source = "", destination = ""], copy }: TemplateStep) {
  return { source, destination, resolveSymlinks: copy?.resolveSymlinks === true };
}

/** An error about the files of a step leads to the call of `copy`. */
async function atStep<T>(step: TemplateStep, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof FileUploadError) setStack(error, step.stack);
    throw error;
  }
}

function withStepStack(status: TemplateBuildStatus, { steps, stack }: TemplateDefinition): Error {
  const error = toBuildError(status);
  const index = Number(error.step);
  setStack(error, Number.isInteger(index) && index >= 1 ? steps[index - 1]?.stack : stack);
  return error;
}

function setStack(error: Error, stack: string | undefined): void {
  const frames = stack?.split("\n").filter((line) => /^\s*at /.test(line));
  if (frames !== undefined && frames.length > 0) error.stack = `${error.name}: ${error.message}\n${frames.join("\n")}`;
}

function logTo(onBuildLogs: BuildLogger | undefined): Say {
  return (level, message) => onBuildLogs?.(new LogEntry(new Date(), level, message));
}
