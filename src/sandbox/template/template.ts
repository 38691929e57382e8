import { InvalidArgumentError } from "../../errors/error-classes.js";
import type { TemplateBuildStatus, TemplateDetail, TemplateInfo, TemplateTag } from "../../protocol/template-client.js";
import { loadPart } from "../../shared/load-part.js";
import { pickRequest } from "../../shared/pick-request.js";
import type { ConnectionOptions } from "../../transport/config.js";
import { openTemplates } from "../open-sandbox.js";
import { withBuildFrame } from "./build-log.js";
import type { BuildInfo, BuildSettings } from "./build-template.js";
import { type FinishedTemplate, TemplateBuilder, type TemplateOptions } from "./template-builder.js";
import { toDockerfile } from "./to-dockerfile.js";

/** How a template is built, and where. */
export interface TemplateBuildOptions extends BuildSettings, ConnectionOptions {}

/** How the state of a build is asked for. */
export interface BuildStatusOptions extends ConnectionOptions {
  /** Log entries to leave out, from the start. @defaultValue 0 */
  readonly logsOffset?: number | undefined;
}

type AnyTemplate = FinishedTemplate | TemplateBuilder;

/**
 * Begin a template. Without a `from…` call it begins with the template `base`.
 *
 * @example
 * const template = Template().fromTemplate("base").aptInstall("jq").setStartCmd("python3 -m http.server 8000", waitForPort(8000));
 * await Template.build(template, "my-template");
 */
function createTemplate(options: TemplateOptions = {}): TemplateBuilder {
  const holder: { stack?: string } = {};
  // The stack begins at the program, whose directory is the default context.
  (Error as { captureStackTrace?: (target: object, above: unknown) => void }).captureStackTrace?.(holder, createTemplate);
  return new TemplateBuilder(options, holder.stack);
}

const operations = {
  /**
   * Build a template and wait for its end.
   *
   * @throws {@link BuildError} a step failed, and the stack leads to its call; {@link FileUploadError} files of a COPY; `signal.reason`, while
   * the server goes on building.
   */
  async build(template: AnyTemplate, name: string, options: TemplateBuildOptions = {}): Promise<BuildInfo> {
    checkName(name);
    options.signal?.throwIfAborted();
    const { definition } = template;
    return withBuildFrame(options.onBuildLogs, async () => {
      const { startBuild, waitForBuild } = await loadBuilding(options.signal);
      const client = await openTemplates(options);
      const build = await startBuild(client, definition, name, options, pickRequest(options));
      await waitForBuild(client, definition, build, options, pickRequest(options));
      return build;
    });
  },

  /** Start the build of a template; resolves when the server has everything it needs. */
  async buildInBackground(template: AnyTemplate, name: string, options: TemplateBuildOptions = {}): Promise<BuildInfo> {
    checkName(name);
    options.signal?.throwIfAborted();
    const { startBuild } = await loadBuilding(options.signal);
    const client = await openTemplates(options);
    return startBuild(client, template.definition, name, options, pickRequest(options));
  },

  /** How a build goes, with its log from an offset on. */
  async getBuildStatus(build: Pick<BuildInfo, "templateId" | "buildId">, options: BuildStatusOptions = {}): Promise<TemplateBuildStatus> {
    const client = await openTemplates(options);
    return client.status(build, options.logsOffset, pickRequest(options));
  },

  /** Whether there is a template of this name, also one that belongs to somebody else. */
  async exists(name: string, options: ConnectionOptions = {}): Promise<boolean> {
    checkName(name);
    const client = await openTemplates(options);
    return client.exists(name, pickRequest(options));
  },

  /** @deprecated the older name of {@link exists} */
  async aliasExists(alias: string, options: ConnectionOptions = {}): Promise<boolean> {
    return operations.exists(alias, options);
  },

  /** Give tags to the build that `target` (`name` or `name:tag`) leads to. */
  async assignTags(target: string, tags: string | readonly string[], options: ConnectionOptions = {}) {
    const client = await openTemplates(options);
    return client.assignTags(target, toList(tags), pickRequest(options));
  },

  /** Take tags away from a template; `default` stays. */
  async removeTags(name: string, tags: string | readonly string[], options: ConnectionOptions = {}): Promise<void> {
    const client = await openTemplates(options);
    await client.removeTags(name, toList(tags), pickRequest(options));
  },

  /** The tags of a template, by id or name. */
  async getTags(templateId: string, options: ConnectionOptions = {}): Promise<TemplateTag[]> {
    const client = await openTemplates(options);
    return client.tags(templateId, pickRequest(options));
  },

  /** Every template. */
  async list(options: ConnectionOptions = {}): Promise<TemplateInfo[]> {
    const client = await openTemplates(options);
    return client.list(pickRequest(options));
  },

  /** One template with its builds. @throws {@link TemplateError} there is none. */
  async getInfo(template: string, options: ConnectionOptions = {}): Promise<TemplateDetail> {
    const client = await openTemplates(options);
    return client.get(template, pickRequest(options));
  },

  /** Delete a template. False when there was none. */
  async delete(template: string, options: ConnectionOptions = {}): Promise<boolean> {
    const client = await openTemplates(options);
    return client.delete(template, pickRequest(options));
  },

  /** What is sent to the server, as JSON text; with the hashes of files unless `computeHashes` is false. */
  async toJSON(template: AnyTemplate, computeHashes = true): Promise<string> {
    const { definition } = template;
    const { hashFiles, toBuildStart } = await loadBuilding();
    const hashes = computeHashes ? await hashFiles(definition) : new Map<never, never>();
    return JSON.stringify(toBuildStart(definition, hashes, false), undefined, 2);
  },

  /** A Dockerfile that says the same. @throws {@link TemplateError} the template begins with another template. */
  toDockerfile(template: AnyTemplate): string {
    return toDockerfile(template.definition);
  },
};

/** Begin a template, or work with those that exist. */
export const Template: typeof createTemplate & typeof operations = /* @__PURE__ */ Object.assign(createTemplate, operations);

/** What builds, with what reads files; most programs only use templates. */
function loadBuilding(signal?: AbortSignal) {
  return loadPart("builds templates", import("./build-template.js"), signal);
}

function checkName(name: string): void {
  if (typeof name !== "string" || name.trim() === "") throw new InvalidArgumentError("the name of a template must not be empty");
}

function toList(values: string | readonly string[]): readonly string[] {
  return typeof values === "string" ? [values] : values;
}
