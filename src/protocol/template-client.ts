import type { components } from "../../gen/openapi/lifecycle.js";
import { BuildError, FileUploadError } from "../errors/build-error.js";
import { ProtocolError, TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { RequestOptions } from "../transport/config.js";
import type { HttpClient } from "../transport/http.js";
import { readErrorText } from "../transport/http.js";
import type { RestCallOptions, RestClient } from "../transport/rest.js";

type Schemas = components["schemas"];

/** A build that waits for its start. */
export interface RequestedBuild {
  readonly templateId: string;
  readonly buildId: string;
  readonly tags: readonly string[];
}

/** What to build. */
export type BuildStart = Omit<Schemas["TemplateBuildStart"], "steps"> & { readonly steps: Schemas["TemplateStep"][] };

/** A line of the log of a build. */
export interface TemplateBuildLog {
  readonly timestamp: Date;
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly step?: string;
}

/** How a build goes. */
export interface TemplateBuildStatus {
  readonly templateId: string;
  readonly buildId: string;
  readonly status: "waiting" | "building" | "ready" | "error";
  readonly logEntries: readonly TemplateBuildLog[];
  readonly reason?: { readonly message: string; readonly step?: string };
}

/** A tag of a template. */
export interface TemplateTag {
  readonly tag: string;
  readonly buildId: string;
  readonly createdAt: Date;
}

/** A template as a list shows it. */
export interface TemplateInfo {
  readonly templateId: string;
  readonly buildId: string;
  readonly names: readonly string[];
  readonly isPublic: boolean;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly buildStatus: string;
  readonly buildCount: number;
  readonly spawnCount: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A template with its builds, newest first. */
export interface TemplateDetail extends Pick<TemplateInfo, "templateId" | "names" | "isPublic" | "spawnCount" | "createdAt" | "updatedAt"> {
  readonly builds: readonly {
    readonly buildId: string;
    readonly status: string;
    readonly createdAt: Date;
    readonly cpuCount: number;
    readonly memoryMB: number;
  }[];
}

/** The template operations of the control plane in domain terms. */
export interface TemplateClient {
  request(body: Schemas["TemplateBuildRequest"], options: RequestOptions): Promise<RequestedBuild>;
  files(
    templateId: string,
    hash: string,
    options: RequestOptions,
  ): Promise<{ readonly isPresent: boolean; readonly url?: string; readonly headers: Readonly<Record<string, string>> }>;
  upload(
    target: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
    archive: { readonly sizeBytes: number; read(): AsyncIterable<Uint8Array> },
    options: RequestOptions,
  ): Promise<void>;
  start(build: { readonly templateId: string; readonly buildId: string }, body: BuildStart, options: RequestOptions): Promise<void>;
  status(
    build: { readonly templateId: string; readonly buildId: string },
    logsOffset: number | undefined,
    options: RequestOptions,
  ): Promise<TemplateBuildStatus>;
  exists(name: string, options: RequestOptions): Promise<boolean>;
  assignTags(
    target: string,
    tags: readonly string[],
    options: RequestOptions,
  ): Promise<{ readonly tags: readonly string[]; readonly buildId: string }>;
  removeTags(name: string, tags: readonly string[], options: RequestOptions): Promise<void>;
  tags(templateId: string, options: RequestOptions): Promise<TemplateTag[]>;
  list(options: RequestOptions): Promise<TemplateInfo[]>;
  get(template: string, options: RequestOptions): Promise<TemplateDetail>;
  delete(template: string, options: RequestOptions): Promise<boolean>;
}

/** How long one archive may take on its way. */
const UPLOAD_TIMEOUT_MS = 3600_000;

/** Put the control plane's template operations into domain terms. */
export function createTemplateClient(rest: RestClient, http: HttpClient): TemplateClient {
  const call = (operation: string, options: RequestOptions, isIdempotent: boolean): RestCallOptions => ({
    signal: options.signal,
    requestTimeoutMs: options.requestTimeoutMs,
    operation: `template.${operation}`,
    notFound: "template_not_found",
    isIdempotent,
  });
  return {
    async request(body, options) {
      const { data } = await rest.call(call("build", options, false), (client) => client.POST("/v3/templates", { body }));
      if (!data?.templateID || !data.buildID)
        throw new ProtocolError("template.build: the answer names no build", { operation: "template.build" });
      return { templateId: data.templateID, buildId: data.buildID, tags: data.tags ?? [] };
    },

    async files(templateId, hash, options) {
      const { data } = await rest.call(call("upload", options, true), (client) =>
        client.GET("/templates/{templateID}/files/{hash}", { params: { path: { templateID: templateId, hash } } }),
      );
      return { isPresent: data?.present === true, ...(data?.url !== undefined && { url: data.url }), headers: data?.headers ?? {} };
    },

    async upload({ url, headers }, archive, { signal, requestTimeoutMs }) {
      const deadline = AbortSignal.timeout(Math.min(requestTimeoutMs || UPLOAD_TIMEOUT_MS, 2 ** 31 - 1));
      const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
      const own = Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length"));
      try {
        const response = await http({
          method: "PUT",
          url,
          headers: { ...own, "content-length": String(archive.sizeBytes) },
          body: archive.read(),
          signal: either,
        });
        if (response.status >= 200 && response.status < 300) {
          await response.bytes();
          return;
        }
        throw new FileUploadError(
          `the upload of the files failed with status ${response.status}: ${(await readErrorText(response, either)).slice(0, 300)}`,
          {
            operation: "template.upload",
            statusCode: response.status,
          },
        );
      } catch (error) {
        if (error === deadline.reason) {
          throw new TimeoutError("the upload of the files took too long", { operation: "template.upload", timeout: "request" });
        }
        throw error;
      }
    },

    async start({ templateId, buildId }, body, options) {
      await rest.call(call("build", options, false), (client) =>
        client.POST("/v2/templates/{templateID}/builds/{buildID}", {
          params: { path: { templateID: templateId, buildID: buildId } },
          body,
        }),
      );
    },

    async status({ templateId, buildId }, logsOffset, options) {
      const { data } = await rest.call(call("getBuildStatus", options, true), (client) =>
        client.GET("/templates/{templateID}/builds/{buildID}/status", {
          params: { path: { templateID: templateId, buildID: buildId }, query: logsOffset === undefined ? {} : { logsOffset } },
        }),
      );
      if (data === undefined)
        throw new ProtocolError("template.getBuildStatus: the answer describes no build", { operation: "template.getBuildStatus" });
      return {
        templateId: data.templateID,
        buildId: data.buildID,
        status: data.status,
        logEntries: (data.logEntries ?? []).map(({ timestamp, ...entry }) => ({ ...entry, timestamp: new Date(timestamp) })),
        ...(data.reason != null && {
          reason: { message: data.reason.message, ...(data.reason.step !== undefined && { step: data.reason.step }) },
        }),
      };
    },

    async exists(name, options) {
      try {
        await rest.call(call("exists", options, true), (client) =>
          client.GET("/templates/aliases/{alias}", { params: { path: { alias: name } } }),
        );
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "template_not_found") return false;
        // The name is somebody else's.
        if (SandboxError.isInstance(error) && error.reason === "permission_denied") return true;
        throw error;
      }
    },

    async assignTags(target, tags, options) {
      const { data } = await rest.call(call("assignTags", options, true), (client) =>
        client.POST("/templates/tags", { body: { target, tags: [...tags] } }),
      );
      return { tags: data?.tags ?? [], buildId: data?.buildID ?? "" };
    },

    async removeTags(name, tags, options) {
      await rest.call(call("removeTags", options, true), (client) => client.DELETE("/templates/tags", { body: { name, tags: [...tags] } }));
    },

    async tags(templateId, options) {
      const { data } = await rest.call(call("getTags", options, true), (client) =>
        client.GET("/templates/{templateID}/tags", { params: { path: { templateID: templateId } } }),
      );
      return (data ?? []).map(({ tag, buildID, createdAt }) => ({ tag, buildId: buildID, createdAt: new Date(createdAt) }));
    },

    async list(options) {
      const { data } = await rest.call(call("list", options, true), (client) => client.GET("/templates"));
      return (data ?? []).map((wire) => ({
        ...toFacts(wire),
        buildId: wire.buildID,
        cpuCount: wire.cpuCount,
        memoryMB: wire.memoryMB,
        buildStatus: wire.buildStatus,
        buildCount: wire.buildCount,
      }));
    },

    async get(template, options) {
      const { data } = await rest.call(call("get", options, true), (client) =>
        client.GET("/templates/{templateID}", { params: { path: { templateID: template } } }),
      );
      if (data === undefined) throw new ProtocolError("template.get: the answer describes no template", { operation: "template.get" });
      const builds = data.builds.map((build) => ({
        buildId: build.buildID,
        status: build.status,
        createdAt: new Date(build.createdAt),
        cpuCount: build.cpuCount,
        memoryMB: build.memoryMB,
      }));
      return { ...toFacts(data), builds };
    },

    async delete(template, options) {
      try {
        await rest.call(call("delete", options, true), (client) =>
          client.DELETE("/templates/{templateID}", { params: { path: { templateID: template } } }),
        );
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "template_not_found") return false;
        throw error;
      }
    },
  };
}

function toFacts(wire: Pick<Schemas["TemplateWithBuilds"], "templateID" | "names" | "public" | "spawnCount" | "createdAt" | "updatedAt">) {
  return {
    templateId: wire.templateID,
    names: wire.names,
    isPublic: wire.public,
    spawnCount: wire.spawnCount,
    createdAt: new Date(wire.createdAt),
    updatedAt: new Date(wire.updatedAt),
  };
}

/** The error of a build that ended with `error`. */
export function toBuildError(status: TemplateBuildStatus): BuildError {
  const { message = "the build failed", step } = status.reason ?? {};
  const where = step === undefined ? "" : step === "base" || step === "finalize" ? ` (${step})` : ` (step ${step})`;
  return new BuildError(`the build ${status.buildId} of template ${status.templateId} failed${where}: ${message}`, {
    operation: "template.build",
    step,
  });
}
