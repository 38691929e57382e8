import {
  type BuildInfo,
  type FinishedTemplate,
  LogEntry,
  Template as TemplateBase,
  type TemplateBuilder,
  type TemplateBuildLog,
  type TemplateBuildOptions,
  type TemplateOptions,
  type TemplateTag,
} from "../../index.js";
import { type ConnectionOpts, withBound } from "./connection.js";

/** What can be built. */
export type TemplateClass = TemplateBuilder | FinishedTemplate;

/** How a template is built, and where. */
export interface BuildOptions extends TemplateBuildOptions, ConnectionOpts {
  /** Name, where it is not an argument of its own. */
  readonly alias: string;
}

export interface GetBuildStatusOptions extends ConnectionOpts {
  /** Log entries to leave out, from the start. @defaultValue 0 */
  readonly logsOffset?: number | undefined;
}

/** How far a build is. */
export type TemplateBuildStatus = "building" | "waiting" | "ready" | "error";

/** Why a build failed. */
export interface BuildStatusReason {
  message: string;
  step?: string;
  logEntries: LogEntry[];
}

/** How a build goes. */
export interface TemplateBuildStatusResponse {
  buildID: string;
  templateID: string;
  status: TemplateBuildStatus;
  logEntries: LogEntry[];
  /** Always empty; `logEntries` has them. */
  logs: string[];
  reason?: BuildStatusReason;
}

/** Tags of one build. */
export interface TemplateTagInfo {
  buildId: string;
  tags: string[];
}

type WithoutAlias = Omit<BuildOptions, "alias">;

/** {@link TemplateBase} with the options and answers that programs for `e2b` know, bound to options. */
function bindTemplate(boundOpts: ConnectionOpts | undefined) {
  const bound = { boundOpts };
  const named = (nameOrOptions: string | BuildOptions, options: WithoutAlias | undefined): [string, WithoutAlias] => {
    if (typeof nameOrOptions === "string") return [nameOrOptions, withBound(bound, options)];
    const { alias, ...rest } = nameOrOptions;
    return [alias, withBound<WithoutAlias>(bound, rest)];
  };
  return {
    build: ((template: TemplateClass, nameOrOptions: string | BuildOptions, options?: WithoutAlias) =>
      TemplateBase.build(template, ...named(nameOrOptions, options)).then(toBuildInfo)) as BuildTemplate,
    buildInBackground: ((template: TemplateClass, nameOrOptions: string | BuildOptions, options?: WithoutAlias) =>
      TemplateBase.buildInBackground(template, ...named(nameOrOptions, options)).then(toBuildInfo)) as BuildTemplate,
    async getBuildStatus(
      build: Pick<BuildInfo, "templateId" | "buildId">,
      options?: GetBuildStatusOptions,
    ): Promise<TemplateBuildStatusResponse> {
      const { templateId, buildId, status, logEntries, reason } = await TemplateBase.getBuildStatus(build, withBound(bound, options));
      const ofStep = ({ step }: TemplateBuildLog) => step !== undefined && step === reason?.step;
      return {
        templateID: templateId,
        buildID: buildId,
        status,
        logEntries: logEntries.map(toLogEntry),
        logs: [],
        ...(reason !== undefined && { reason: { ...reason, logEntries: logEntries.filter(ofStep).map(toLogEntry) } }),
      };
    },
    exists: (name: string, options?: ConnectionOpts): Promise<boolean> => TemplateBase.exists(name, withBound(bound, options)),
    /** @deprecated the older name of `exists` */
    aliasExists: (alias: string, options?: ConnectionOpts): Promise<boolean> => TemplateBase.exists(alias, withBound(bound, options)),
    async assignTags(targetName: string, tags: string | readonly string[], options?: ConnectionOpts): Promise<TemplateTagInfo> {
      const { buildId, tags: given } = await TemplateBase.assignTags(targetName, tags, withBound(bound, options));
      return { buildId, tags: [...given] };
    },
    removeTags: (name: string, tags: string | readonly string[], options?: ConnectionOpts): Promise<void> =>
      TemplateBase.removeTags(name, tags, withBound(bound, options)),
    getTags: (templateId: string, options?: ConnectionOpts): Promise<TemplateTag[]> =>
      TemplateBase.getTags(templateId, withBound(bound, options)),
    toJSON: (template: TemplateClass, computeHashes?: boolean): Promise<string> => TemplateBase.toJSON(template, computeHashes),
    toDockerfile: (template: TemplateClass): string => TemplateBase.toDockerfile(template),
  };
}

interface BuildTemplate {
  (template: TemplateClass, name: string, options?: WithoutAlias): Promise<MutableBuildInfo>;
  (template: TemplateClass, options: BuildOptions): Promise<MutableBuildInfo>;
}

/** A build, for later questions. */
interface MutableBuildInfo {
  templateId: string;
  buildId: string;
  name: string;
  alias: string;
  tags: string[];
}

type BoundTemplate = ((options?: TemplateOptions) => TemplateBuilder) & ReturnType<typeof bindTemplate>;

/** The function that begins a template, with everything that can be done with those that exist. */
export function createTemplate(boundOpts?: ConnectionOpts): BoundTemplate {
  // The same function for all would have the methods of the last one.
  const begin = (options?: TemplateOptions) => TemplateBase(options);
  return Object.assign(begin, bindTemplate(boundOpts));
}

/** Begin a template, or work with those that exist. */
export const Template: BoundTemplate = /* @__PURE__ */ createTemplate();

function toBuildInfo(build: BuildInfo): MutableBuildInfo {
  return { ...build, tags: [...build.tags] };
}

function toLogEntry({ timestamp, level, message }: TemplateBuildLog): LogEntry {
  return new LogEntry(timestamp, level, message);
}
