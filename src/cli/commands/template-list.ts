import { Template } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { writeErr, writeJson, writeOut, writeTable } from "../output.js";

/** `abx template list`. */
export async function runTemplateListCommand(options: { readonly json?: boolean }): Promise<ExitCode> {
  const templates = await Template.list();
  if (options.json) {
    await writeJson(templates);
    return EXIT.ok;
  }
  const rows = templates.map((template) => [
    template.names.join(",") || "-",
    template.templateId,
    template.buildStatus,
    String(template.cpuCount),
    String(template.memoryMB),
    template.updatedAt.toISOString(),
  ]);
  await writeTable(["NAME", "ID", "BUILD", "CPUS", "MIB", "UPDATED"], rows);
  return EXIT.ok;
}

/** `abx template info`. */
export async function runTemplateInfoCommand(name: string, options: { readonly json?: boolean }): Promise<ExitCode> {
  const template = await Template.getInfo(name);
  const tags = await Template.getTags(template.templateId);
  if (options.json) {
    await writeJson({ ...template, tags });
    return EXIT.ok;
  }
  const tagsOf = (buildId: string) => tags.filter((tag) => tag.buildId === buildId).map(({ tag }) => tag);
  const rows = template.builds.map((build) => [
    build.buildId,
    build.status,
    tagsOf(build.buildId).join(",") || "-",
    String(build.cpuCount),
    String(build.memoryMB),
    build.createdAt.toISOString(),
  ]);
  await writeOut(`${template.names.join(", ") || "-"}  ${template.templateId}  ${template.spawnCount} sandboxes made\n`);
  await writeTable(["BUILD", "STATUS", "TAGS", "CPUS", "MIB", "CREATED"], rows);
  return EXIT.ok;
}

/** `abx template delete`: goes on after an unknown one and says so at the end. */
export async function runTemplateDeleteCommand(names: readonly string[], options: { readonly json?: boolean }): Promise<ExitCode> {
  const deleted: string[] = [];
  const notFound: string[] = [];
  for (const name of names) ((await Template.delete(name)) ? deleted : notFound).push(name);
  if (options.json) await writeJson({ deleted, notFound });
  else await writeOut(deleted.map((name) => `${name}\n`).join(""));
  if (notFound.length === 0) return EXIT.ok;
  if (!options.json) await writeErr(`abx: no template ${notFound.join(", ")}\n`);
  return EXIT.notFound;
}
