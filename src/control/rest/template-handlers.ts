import type { components } from "../../../gen/openapi/lifecycle.js";
import { FailedPreconditionError, InvalidArgumentError } from "../../errors/error-classes.js";
import type { Snapshots } from "../snapshots/snapshots.js";
import type { BuildSource } from "../templates/build-origin.js";
import { parseSteps } from "../templates/build-step.js";
import type { BuildTable } from "../templates/build-table.js";
import type { RegistryLogin } from "../templates/container-engine.js";
import type { BuildPlan } from "../templates/run-build.js";
import type { TemplateBuilds } from "../templates/template-builds.js";
import type { TemplateCatalog } from "../templates/template-catalog.js";
import { DEFAULT_TAG, parseTemplateReference } from "../templates/template-reference.js";
import type { TemplateStore } from "../templates/template-store.js";
import { filledIn } from "./filled-in.js";
import type { Handlers } from "./operation-types.js";
import { toBuildInfo, toLogEntry, toRequestedBuild, toTemplate, toTemplateWithBuilds } from "./template-wire.js";

export interface TemplateHandlerParts {
  readonly builds: TemplateBuilds;
  readonly catalog: TemplateCatalog;
  readonly store: TemplateStore;
  readonly table: BuildTable;
  /** Snapshots are deleted as templates are. */
  readonly snapshots: Snapshots;
}

type Wire = components["schemas"];
type TemplateOperations =
  | "requestTemplateBuild"
  | "getTemplateFiles"
  | "putTemplateFiles"
  | "startTemplateBuild"
  | "getTemplateBuildStatus"
  | "getTemplateBuildLogs"
  | "listTemplates"
  | "listTemplatesV2"
  | "getTemplate"
  | "deleteTemplate"
  | "updateTemplate"
  | "updateTemplateV2"
  | "getTemplateAlias"
  | "assignTemplateTags"
  | "removeTemplateTags"
  | "listTemplateTags";

/** Log entries that explain a failure. */
const REASON_LOG_ENTRIES = 20;

/** The operations of the contract that concern templates. */
export function createTemplateHandlers({
  builds,
  catalog,
  store,
  table,
  snapshots,
}: TemplateHandlerParts): Pick<Handlers, TemplateOperations> {
  const setPublic = async (reference: string, isPublic: boolean | undefined): Promise<string[]> => {
    const { templateId, aliases } = catalog.get(reference);
    if (isPublic !== undefined) await store.setPublic(templateId, isPublic);
    return [...aliases];
  };
  return {
    requestTemplateBuild: ({ body }) => {
      const name = body.name ?? body.alias;
      if (name === undefined) throw new InvalidArgumentError("name is required");
      const record = builds.request({
        name,
        tags: body.tags ?? [],
        cpuCount: filledIn(body.cpuCount),
        memoryMb: filledIn(body.memoryMB),
      });
      return { status: 202, body: toRequestedBuild(record, catalog.get(record.templateId)) };
    },

    getTemplateFiles: ({ path, origin }) => {
      const { templateId } = catalog.get(path.templateID);
      const hash = path.hash.toLowerCase();
      const url = `${origin}/templates/${templateId}/files/${hash}?token=${builds.uploads.createToken(templateId, hash)}`;
      // The URL is there in any case, since a client may insist on uploading.
      return { status: 201, body: { present: builds.uploads.find(templateId, hash) !== undefined, url } };
    },

    putTemplateFiles: async ({ path, query, body }) => {
      const { templateId } = catalog.get(path.templateID);
      await builds.uploads.put(templateId, path.hash, query.token, body.chunks, body.sizeBytes);
      return { status: 204 };
    },

    startTemplateBuild: ({ path, body }) => {
      const record = catalog.build(path.templateID, path.buildID);
      builds.start(record, toPlan(body));
      return { status: 202 };
    },

    getTemplateBuildStatus: ({ path, query }) => {
      const record = catalog.build(path.templateID, path.buildID);
      const logs = table.logs(record.buildId, {
        offset: filledIn(query.logsOffset),
        limit: filledIn(query.limit),
        ...(query.level !== undefined && { level: query.level }),
      });
      const step = record.reason?.step;
      return {
        status: 200,
        body: toBuildInfo(record, logs, step === undefined ? [] : table.lastLogs(record.buildId, step, REASON_LOG_ENTRIES)),
      };
    },

    getTemplateBuildLogs: ({ path, query }) => {
      const record = catalog.build(path.templateID, path.buildID);
      const logs = table.logsFrom(record.buildId, {
        limit: filledIn(query.limit),
        isForward: filledIn(query.direction) === "forward",
        ...(query.cursor !== undefined && { cursorMs: query.cursor }),
        ...(query.level !== undefined && { level: query.level }),
      });
      return { status: 200, body: { logs: logs.map(toLogEntry) } };
    },

    listTemplates: () => ({ status: 200, body: catalog.list().map((template) => toTemplate(template, table.use(template.templateId))) }),

    listTemplatesV2: ({ query }) => {
      const limit = filledIn(query.limit);
      const all = catalog.list();
      const at = query.nextToken === undefined ? 0 : all.findIndex(({ templateId }) => templateId === query.nextToken);
      if (at < 0) throw new InvalidArgumentError("nextToken is of another list, or its template is gone; begin again");
      const next = all[at + limit];
      const headers: Record<string, string> = next === undefined ? {} : { "X-Next-Token": next.templateId };
      return {
        status: 200,
        headers,
        body: all.slice(at, at + limit).map((template) => toTemplate(template, table.use(template.templateId))),
      };
    },

    getTemplate: ({ path }) => {
      const template = catalog.get(path.templateID);
      return { status: 200, body: toTemplateWithBuilds(template, table.use(template.templateId)) };
    },

    deleteTemplate: async ({ path }) => {
      if (!(await snapshots.delete(path.templateID))) await builds.delete(catalog.get(path.templateID).templateId);
      return { status: 204 };
    },

    updateTemplate: async ({ path, body }) => {
      await setPublic(path.templateID, body.public);
      return { status: 200, body: {} };
    },

    updateTemplateV2: async ({ path, body }) => ({ status: 200, body: { names: await setPublic(path.templateID, body.public) } }),

    getTemplateAlias: ({ path }) => {
      const { templateId, isPublic } = catalog.get(path.alias);
      return { status: 200, body: { templateID: templateId, public: isPublic } };
    },

    assignTemplateTags: async ({ body }) => {
      const { templateId, buildId } = store.resolve(body.target);
      const tags = catalog.parseTags(parseTemplateReference(body.target).name, body.tags);
      await store.assignTags(templateId, tags, buildId);
      return { status: 201, body: { tags, buildID: buildId } };
    },

    removeTemplateTags: async ({ body }) => {
      const { name, tag } = parseTemplateReference(body.name);
      if (tag !== DEFAULT_TAG) throw new InvalidArgumentError(`name '${body.name}' must have no tag; tags has them`);
      await store.removeTags(catalog.get(name).templateId, catalog.parseTags(name, body.tags));
      return { status: 204 };
    },

    listTemplateTags: ({ path }) => {
      const tags = Object.entries(catalog.get(path.templateID).tags).sort(([a], [b]) => (a < b ? -1 : 1));
      return {
        status: 200,
        body: tags.map(([tag, { buildId, assignedAt }]) => ({ tag, buildID: buildId, createdAt: assignedAt.toISOString() })),
      };
    },
  };
}

function toPlan(body: Wire["TemplateBuildStart"]): BuildPlan {
  return {
    source: toSource(body),
    steps: parseSteps(filledIn(body.steps).map((step) => ({ ...step, args: filledIn(step.args) }))),
    startCommand: body.startCmd || undefined,
    readyCommand: body.readyCmd || undefined,
    isForced: filledIn(body.force),
  };
}

function toSource({ fromImage, fromTemplate, fromImageRegistry }: Wire["TemplateBuildStart"]): BuildSource {
  if ((fromImage === undefined) === (fromTemplate === undefined)) {
    throw new InvalidArgumentError("exactly one of fromImage and fromTemplate is required");
  }
  if (fromTemplate !== undefined) {
    parseTemplateReference(fromTemplate);
    return { kind: "template", reference: fromTemplate };
  }
  return { kind: "image", image: String(fromImage), login: fromImageRegistry === undefined ? undefined : toLogin(fromImageRegistry) };
}

function toLogin(registry: Wire["RegistryCredentials"]): RegistryLogin {
  switch (registry.type) {
    case "registry":
      return { username: registry.username, password: registry.password };
    case "gcp":
      // What Google documents for keys of service accounts.
      return { username: "_json_key", password: registry.serviceAccountJson };
    case "aws":
      throw new FailedPreconditionError(
        "this platform has no AWS client: get a password with `aws ecr get-login-password` and pass it as username AWS of a registry of type registry",
      );
  }
}
