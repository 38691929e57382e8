import { existsSync, readFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { type CustomCommandSpec, InvalidArgumentError } from "../index.js";
import { parseCustomCommands } from "../shared/custom-commands.js";

/** What `template.yaml` says about a build. */
export interface TemplateYaml {
  readonly name: string | undefined;
  readonly tags: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cpuCount: number | undefined;
  readonly memoryMB: number | undefined;
  readonly startCommand: string | undefined;
  readonly readyCommand: string | undefined;
  readonly dockerfile: string | undefined;
  readonly customCommands: Readonly<Record<string, CustomCommandSpec>>;
  /** Of the runtime of the FC service. */
  readonly generation: number | undefined;
}

export const TEMPLATE_FILE = "template.yaml";

/** Fields that are read, and those that describe the template for people and catalogues. */
const READ = [
  "name",
  "tags",
  "env",
  "cpu_count",
  "memory_mb",
  "resources",
  "start_cmd",
  "ready_cmd",
  "dockerfile",
  "custom_commands",
  "generation",
];
const DESCRIPTIVE = ["version", "description", "author", "license", "ports", "capabilities"];
/** Build instructions, whose only source is the Dockerfile. */
const MOVED = ["base", "system_packages", "python_packages", "node_packages", "commands", "copy_files"];

/**
 * Read a template.yaml; `undefined` when there is none.
 *
 * @throws {@link InvalidArgumentError} it is no YAML, or a field is unknown or of the wrong kind; the message names it.
 */
export function readTemplateYaml(file: string): TemplateYaml | undefined {
  if (!existsSync(file)) return undefined;
  const document = parseDocument(readFileSync(file, "utf8"));
  const [failure] = document.errors;
  if (failure !== undefined) throw new InvalidArgumentError(`${file}: ${failure.message.split("\n")[0]}`);
  const value: unknown = document.toJS() ?? {};
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new InvalidArgumentError(`${file} must hold fields`);
  const fields = value as Readonly<Record<string, unknown>>; // just checked
  const refuse = (what: string): never => {
    throw new InvalidArgumentError(`${file}: ${what}`);
  };
  for (const field of Object.keys(fields)) {
    if (MOVED.includes(field)) refuse(`${field} is not read; write it as instructions of the Dockerfile`);
    if (!READ.includes(field) && !DESCRIPTIVE.includes(field)) refuse(`unknown field ${field}`);
  }
  const text = (name: string): string | undefined => {
    const found = fields[name] ?? undefined;
    if (found === undefined || typeof found === "string") return found || undefined;
    return refuse(`${name} must be a text`);
  };
  const count = (name: string, found: unknown): number | undefined => {
    if (found === undefined || found === null) return undefined;
    return typeof found === "number" && Number.isInteger(found) && found > 0 ? found : refuse(`${name} must be a whole number above 0`);
  };
  parseCustomCommands(fields.custom_commands, file);
  const resources = (fields.resources ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof resources !== "object" || Array.isArray(resources)) refuse("resources must hold cpu and memory");
  return {
    name: text("name") ?? refuse("name is required"),
    tags: toTexts(fields.tags, () => refuse("tags must be a list of texts")),
    envs: toEnvs(fields.env, (name) =>
      refuse(name === undefined ? "env must hold names and values" : `env.${name} must be a text or a number`),
    ),
    cpuCount: count("cpu_count", fields.cpu_count ?? resources.cpu),
    memoryMB: count("memory_mb", fields.memory_mb ?? resources.memory),
    startCommand: text("start_cmd"),
    readyCommand: text("ready_cmd"),
    dockerfile: text("dockerfile"),
    customCommands: (fields.custom_commands ?? {}) as Readonly<Record<string, CustomCommandSpec>>, // parsed above
    generation: count("generation", fields.generation),
  };
}

function toTexts(value: unknown, refuse: () => never): readonly string[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) && value.every((entry) => typeof entry === "string") ? value : refuse();
}

function toEnvs(value: unknown, refuse: (name?: string) => never): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) return refuse();
  return Object.fromEntries(
    Object.entries(value).map(([name, found]: [string, unknown]) => {
      const isPlain = typeof found === "string" || typeof found === "number" || typeof found === "boolean";
      return [name, isPlain ? String(found) : refuse(name)];
    }),
  );
}
