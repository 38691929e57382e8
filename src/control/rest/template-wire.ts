import type { components } from "../../../gen/openapi/lifecycle.js";
import { ENVD_VERSION } from "../new-sandbox.js";
import type { BuildLogEntry, BuildRecord } from "../templates/build-record.js";
import type { TemplateUse } from "../templates/build-table.js";
import type { KnownTemplate } from "../templates/template-catalog.js";

type Wire = components["schemas"];

/** Disk of a sandbox: only that of the machine limits it. */
const DISK_SIZE_MB = 0;

/** One element of a list. */
export function toTemplate(template: KnownTemplate, use: TemplateUse): Wire["Template"] {
  const [newest] = template.builds;
  const shown = template.builds.find(({ buildId }) => buildId === template.tags.default?.buildId) ?? newest;
  return {
    ...toTemplateFacts(template, use),
    buildID: shown?.buildId ?? "",
    cpuCount: shown?.cpuCount ?? 1,
    memoryMB: shown?.memoryMb ?? 128,
    diskSizeMB: DISK_SIZE_MB,
    createdBy: null,
    buildCount: template.builds.length,
    envdVersion: ENVD_VERSION,
    buildStatus: shown?.state ?? "error",
  };
}

/** A template with its builds, newest first. */
export function toTemplateWithBuilds(template: KnownTemplate, use: TemplateUse): Wire["TemplateWithBuilds"] {
  return {
    ...toTemplateFacts(template, use),
    builds: template.builds.map((build) => ({
      buildID: build.buildId,
      status: build.state,
      createdAt: build.createdAt.toISOString(),
      updatedAt: build.updatedAt.toISOString(),
      ...(build.finishedAt !== undefined && { finishedAt: build.finishedAt.toISOString() }),
      cpuCount: build.cpuCount,
      memoryMB: build.memoryMb,
      diskSizeMB: DISK_SIZE_MB,
      envdVersion: ENVD_VERSION,
    })),
  };
}

function toTemplateFacts({ templateId, aliases, isPublic, builds }: KnownTemplate, use: TemplateUse) {
  const created = builds.at(-1)?.createdAt ?? new Date(0);
  const updated = new Date(Math.max(created.getTime(), ...builds.map((build) => build.updatedAt.getTime())));
  return {
    templateID: templateId,
    public: isPublic,
    aliases: [...aliases],
    names: [...aliases],
    createdAt: created.toISOString(),
    updatedAt: updated.toISOString(),
    lastSpawnedAt: use.lastSpawnedAt?.toISOString() ?? null,
    spawnCount: use.spawnCount,
  };
}

/** What a requested build is called. */
export function toRequestedBuild(record: BuildRecord, template: KnownTemplate | undefined): Wire["RequestedTemplateBuild"] {
  const names = [...new Set([...(record.name === undefined ? [] : [record.name]), ...(template?.aliases ?? [])])];
  return {
    templateID: record.templateId,
    buildID: record.buildId,
    public: template?.isPublic ?? false,
    aliases: names,
    names,
    tags: [...record.tags],
  };
}

/** How a build goes. */
export function toBuildInfo(
  record: BuildRecord,
  logs: readonly BuildLogEntry[],
  reasonLogs: readonly BuildLogEntry[],
): Wire["TemplateBuildInfo"] {
  const { reason } = record;
  return {
    templateID: record.templateId,
    buildID: record.buildId,
    status: record.state,
    logs: [],
    logEntries: logs.map(toLogEntry),
    ...(reason !== undefined && {
      reason: { message: reason.message, ...(reason.step !== undefined && { step: reason.step }), logEntries: reasonLogs.map(toLogEntry) },
    }),
  };
}

/** One line of a log. */
export function toLogEntry({ timestamp, message, level, step }: BuildLogEntry): Wire["BuildLogEntry"] {
  return { timestamp: timestamp.toISOString(), message, level, ...(step !== undefined && { step }) };
}
