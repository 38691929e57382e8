import { InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import type { BuildRecord, BuildState } from "./build-record.js";
import type { BuildTable } from "./build-table.js";
import { DEFAULT_TAG, parseTemplateReference } from "./template-reference.js";
import type { NamedTemplate, ResolvedTemplate, TemplateStore } from "./template-store.js";

/** A build as it is described, wherever it is known from. */
export interface KnownBuild {
  readonly buildId: string;
  readonly state: BuildState;
  readonly cpuCount: number;
  readonly memoryMb: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | undefined;
}

/** Where a tag leads. */
export interface KnownTag {
  readonly buildId: string;
  readonly assignedAt: Date;
}

/** A template that is published, or of which a build was asked for. */
export interface KnownTemplate {
  readonly templateId: string;
  readonly aliases: readonly string[];
  readonly isPublic: boolean;
  readonly tags: Readonly<Record<string, KnownTag>>;
  /** Newest first. */
  readonly builds: readonly KnownBuild[];
}

/** Every template of the platform: those on the disk and those whose first build is not ready. */
export class TemplateCatalog {
  readonly #store: TemplateStore;
  readonly #table: BuildTable;

  constructor(store: TemplateStore, table: BuildTable) {
    this.#store = store;
    this.#table = table;
  }

  /** By first name. */
  list(): KnownTemplate[] {
    const published = this.#store.templates().map((named) => this.#toKnown(named.templateId, named));
    const ids = new Set(published.map(({ templateId }) => templateId));
    const pending = [...new Set(this.#table.list().map(({ templateId }) => templateId))].filter((id) => !ids.has(id));
    const nameOf = ({ aliases, templateId }: KnownTemplate) => aliases[0] ?? templateId;
    return [...published, ...pending.map((id) => this.#toKnown(id, undefined))].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  /**
   * A template by id or name; a tag at its end must exist.
   *
   * @throws {@link TemplateError} there is none; {@link InvalidArgumentError} not a reference.
   */
  get(reference: string): KnownTemplate {
    const { name, namespace, tag } = parseTemplateReference(reference);
    const named = namespace === undefined ? this.#store.find(name) : undefined;
    const pendingId = named === undefined && namespace === undefined ? this.#pendingId(name) : undefined;
    if (named === undefined && pendingId === undefined) throw new TemplateError(`template '${reference.trim()}' not found`);
    const known = this.#toKnown(named?.templateId ?? String(pendingId), named);
    if (tag !== DEFAULT_TAG && !Object.hasOwn(known.tags, tag))
      throw new TemplateError(`tag '${tag}' does not exist for template '${name}'`);
    return known;
  }

  /**
   * A build of a template.
   *
   * @throws {@link TemplateError} there is no such build of this template.
   */
  build(reference: string, buildId: string): BuildRecord {
    const record = this.#table.get(buildId.toLowerCase());
    if (record === undefined || record.templateId !== this.get(reference).templateId) {
      throw new TemplateError(`build '${buildId}' of template '${reference}' not found`);
    }
    return record;
  }

  /**
   * Tags as they stand in a request: bare, or as references of the same template.
   *
   * @throws {@link InvalidArgumentError} a tag is malformed or names another template.
   */
  parseTags(name: string, tags: readonly string[]): string[] {
    return tags.map((tag) => {
      if (!tag.includes(":")) return parseTemplateReference(`${name}:${tag}`).tag;
      const reference = parseTemplateReference(tag);
      if (reference.name !== name) throw new InvalidArgumentError(`tag '${tag}' is of another template than '${name}'`);
      return reference.tag;
    });
  }

  #pendingId(name: string): string | undefined {
    return this.#table.findByName(name)?.templateId ?? this.#table.list(name)[0]?.templateId;
  }

  #toKnown(templateId: string, named: NamedTemplate | undefined): KnownTemplate {
    const records = this.#table.list(templateId);
    const recorded = new Set(records.map(({ buildId }) => buildId));
    // Builds of `abx setup` and of other platforms on the same directory have no record here.
    const found = this.#store.builds(templateId).filter(({ buildId }) => !recorded.has(buildId));
    const builds = [...records, ...found.map(toKnownBuild)].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
    const names = records.flatMap(({ name }) => name ?? []);
    const tags = Object.entries(named?.tags ?? {}).map(([tag, buildId]): [string, KnownTag] => {
      const assigned = named?.taggedAt?.[tag];
      const built = builds.find((build) => build.buildId === buildId)?.createdAt;
      return [tag, { buildId, assignedAt: assigned === undefined ? (built ?? new Date(0)) : new Date(assigned) }];
    });
    return {
      templateId,
      aliases: named?.aliases ?? [...new Set(names)],
      isPublic: named?.isPublic ?? false,
      tags: Object.fromEntries(tags),
      builds,
    };
  }
}

function toKnownBuild({ buildId, cpuCount, memoryMb, createdAt }: ResolvedTemplate): KnownBuild {
  const at = new Date(createdAt);
  return { buildId, state: "ready", cpuCount, memoryMb, createdAt: at, updatedAt: at, finishedAt: at };
}
