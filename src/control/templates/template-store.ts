import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import { changeTemplateIndex, type IndexEntry, readTemplateIndex, withoutTags, withTags } from "./template-index.js";
import { DEFAULT_TAG, parseTemplateReference } from "./template-reference.js";

/** What every sandbox of a template starts with. */
export interface TemplateStart {
  readonly envs: Readonly<Record<string, string>>;
  /** Account of calls that name none; absent: the daemon's own default. */
  readonly user?: string;
  /** Directory of commands that name none; absent: the home of the user. */
  readonly workdir?: string;
  /** Runs from the start of a sandbox on. */
  readonly startCommand?: string;
  /** Ends with 0 once what `startCommand` runs is ready. */
  readonly readyCommand?: string;
}

/** What `template.json` of a build says. */
export interface TemplateBuild {
  readonly templateId: string;
  readonly buildId: string;
  /** Host id that owns the files of root in its layers. */
  readonly hostIdBase: number;
  /** Defaults of a sandbox that is made from it. */
  readonly cpuCount: number;
  readonly memoryMb: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Fingerprint of what it was built from; another one means that the build is out of date. */
  readonly recipe: string;
  /** Directories of the layers relative to this file, lowest first. @defaultValue `["rootfs"]` */
  readonly layers?: readonly string[];
  readonly start?: TemplateStart;
}

/** A build that a reference leads to. */
export interface ResolvedTemplate extends TemplateBuild {
  /** Names of the template; the first is the one that a user sees. */
  readonly aliases: readonly string[];
  /** Directory with `template.json`. */
  readonly directory: string;
}

/** A template with its names. */
export interface NamedTemplate extends IndexEntry {
  readonly templateId: string;
}

/** Templates on the disk: `<templateId>/<buildId>/template.json` with layers, and the table of names, `index.json`. */
export interface TemplateStore {
  /**
   * Find the build of a reference (`[namespace/]name[:tag]`, where the name is an alias or an id).
   *
   * @throws {@link InvalidArgumentError} not a reference; {@link TemplateError} unknown template or tag.
   */
  resolve(reference: string): ResolvedTemplate;
  /** Every template with its default build, in the order of their making. */
  list(): readonly ResolvedTemplate[];
  /** Every template, also one without a default build. */
  templates(): readonly NamedTemplate[];
  /** A template by alias or id. */
  find(name: string): NamedTemplate | undefined;
  /** Finished builds of a template. */
  builds(templateId: string): readonly ResolvedTemplate[];
  /** Move a finished build into place and point the tags of its template at it. Builds that were there before stay on the disk. */
  publish(
    stagedDirectory: string,
    build: TemplateBuild,
    names: { readonly aliases: readonly string[]; readonly tags: readonly string[] },
  ): Promise<ResolvedTemplate>;
  assignTags(templateId: string, tags: readonly string[], buildId: string): Promise<void>;
  /** @throws {@link InvalidArgumentError} `default`; {@link TemplateError} the template has no such tag. */
  removeTags(templateId: string, tags: readonly string[]): Promise<void>;
  setPublic(templateId: string, isPublic: boolean): Promise<void>;
  /** Forget a template; files that something stands on stay, see {@link TemplateStore.prune}. */
  forget(templateId: string): Promise<void>;
  /**
   * Remove builds that no tag names and nothing stands on.
   *
   * @param used directories of layers that sandboxes have mounted.
   * @param within only builds of this template.
   */
  prune(used: ReadonlySet<string>, within?: string): void;
  /** Directories of the builds that {@link TemplateStore.prune} would remove. */
  unused(used: ReadonlySet<string>): readonly string[];
  /** Directories of the layers of every finished build, but for those in the directories of `except`. */
  layersInUse(except?: readonly string[]): ReadonlySet<string>;
}

const TEMPLATE_ID = /^[a-z0-9]{20}$/;
const BUILD_ID = /^[a-z0-9][a-z0-9-]{19,35}$/;

/** Absolute directories of the layers of a build, lowest first. */
export function layersOf(build: Pick<TemplateBuild, "layers">, directory: string): readonly string[] {
  return (build.layers ?? ["rootfs"]).map((layer) => resolve(directory, layer));
}

/** Open the store in `templatesDir`; the directory may be missing as long as nothing is published. */
export function createTemplateStore(templatesDir: string): TemplateStore {
  const readBuild = (templateId: string, buildId: string, aliases: readonly string[]): ResolvedTemplate | undefined => {
    const directory = join(templatesDir, templateId, buildId);
    try {
      const build = JSON.parse(readFileSync(join(directory, "template.json"), "utf8")) as TemplateBuild;
      return { ...build, aliases, directory };
    } catch {
      return undefined;
    }
  };

  const find = (name: string): NamedTemplate | undefined => {
    const index = readTemplateIndex(templatesDir);
    const found = Object.entries(index).find(([id, entry]) => id === name || entry.aliases.includes(name));
    return found === undefined ? undefined : { templateId: found[0], ...found[1] };
  };

  const changeEntry = (templateId: string, change: (entry: IndexEntry) => IndexEntry): Promise<void> =>
    changeTemplateIndex(templatesDir, (index) => {
      const entry = index[templateId];
      if (entry === undefined) throw new TemplateError(notFoundText(templateId));
      return { ...index, [templateId]: change(entry) };
    });

  const buildIds = (templateId: string): string[] => {
    const directory = join(templatesDir, templateId);
    return existsSync(directory) ? readdirSync(directory).filter((name) => BUILD_ID.test(name)) : [];
  };
  const templateIds = (): string[] => (existsSync(templatesDir) ? readdirSync(templatesDir).filter((name) => TEMPLATE_ID.test(name)) : []);
  const allBuilds = (): ResolvedTemplate[] =>
    templateIds().flatMap((templateId) => buildIds(templateId).flatMap((buildId) => readBuild(templateId, buildId, []) ?? []));

  /** What a build stands on is free only after that build, hence the rounds. */
  const removableBuilds = (used: ReadonlySet<string>, within: string | undefined): string[] => {
    const index = readTemplateIndex(templatesDir);
    const removable: string[] = [];
    let builds = allBuilds();
    for (;;) {
      const round = builds.filter(({ templateId, buildId, directory }) => {
        const isTagged = Object.values(index[templateId]?.tags ?? {}).includes(buildId);
        if (isTagged || (within !== undefined && within !== templateId)) return false;
        const others = builds.filter((other) => other.directory !== directory);
        const isBase = others.some((other) => layersOf(other, other.directory).some((layer) => layer.startsWith(`${directory}/`)));
        return !isBase && ![...used].some((layer) => layer.startsWith(`${directory}/`));
      });
      if (round.length === 0) return removable;
      removable.push(...round.map(({ directory }) => directory));
      builds = builds.filter((build) => !round.includes(build));
    }
  };

  return {
    find,

    resolve(reference) {
      const { name, tag, namespace } = parseTemplateReference(reference);
      // There are no namespaces on one machine, so a qualified name leads nowhere.
      const found = namespace === undefined ? find(name) : undefined;
      if (found === undefined) throw new TemplateError(notFoundText(reference));
      const buildId = Object.hasOwn(found.tags, tag) ? found.tags[tag] : undefined;
      if (buildId === undefined) throw new TemplateError(`tag '${tag}' does not exist for template '${name}'`);
      const build = readBuild(found.templateId, buildId, found.aliases);
      if (build === undefined) throw new TemplateError(notFoundText(reference));
      return build;
    },

    list() {
      return Object.entries(readTemplateIndex(templatesDir)).flatMap(([templateId, { aliases, tags }]) => {
        const buildId = tags.default;
        return (buildId === undefined ? undefined : readBuild(templateId, buildId, aliases)) ?? [];
      });
    },

    templates: () => Object.entries(readTemplateIndex(templatesDir)).map(([templateId, entry]) => ({ templateId, ...entry })),

    builds(templateId) {
      const aliases = find(templateId)?.aliases ?? [];
      return buildIds(templateId).flatMap((buildId) => readBuild(templateId, buildId, aliases) ?? []);
    },

    async publish(stagedDirectory, build, { aliases, tags }) {
      writeFileSync(join(stagedDirectory, "template.json"), `${JSON.stringify(build, null, 2)}\n`);
      const directory = join(templatesDir, build.templateId, build.buildId);
      mkdirSync(join(templatesDir, build.templateId), { recursive: true, mode: 0o711 });
      renameSync(stagedDirectory, directory);
      await changeTemplateIndex(templatesDir, (index) => ({
        ...index,
        [build.templateId]: withTags(index[build.templateId], tags, build.buildId, aliases),
      }));
      return { ...build, aliases: find(build.templateId)?.aliases ?? aliases, directory };
    },

    assignTags: (templateId, tags, buildId) => changeEntry(templateId, (entry) => withTags(entry, tags, buildId, [])),

    async removeTags(templateId, tags) {
      if (tags.includes(DEFAULT_TAG)) throw new InvalidArgumentError(`tag '${DEFAULT_TAG}' cannot be removed; give it to another build`);
      await changeEntry(templateId, (entry) => {
        const missing = tags.find((tag) => !Object.hasOwn(entry.tags, tag));
        if (missing !== undefined)
          throw new TemplateError(`tag '${missing}' does not exist for template '${entry.aliases[0] ?? templateId}'`);
        return withoutTags(entry, tags);
      });
    },

    setPublic: (templateId, isPublic) => changeEntry(templateId, (entry) => ({ ...entry, isPublic })),

    async forget(templateId) {
      await changeTemplateIndex(templatesDir, (index) => Object.fromEntries(Object.entries(index).filter(([id]) => id !== templateId)));
    },

    layersInUse(except = []) {
      const builds = allBuilds().filter(({ directory }) => !except.includes(directory));
      return new Set(builds.flatMap((build) => layersOf(build, build.directory)));
    },

    unused: (used) => removableBuilds(used, undefined),

    prune(used, within) {
      for (const directory of removableBuilds(used, within)) rmSync(directory, { recursive: true, force: true });
      for (const templateId of within === undefined ? templateIds() : [within]) {
        const directory = join(templatesDir, templateId);
        if (existsSync(directory) && readdirSync(directory).length === 0) rmSync(directory, { recursive: true });
      }
    },
  };
}

function notFoundText(reference: string): string {
  const name = reference.trim();
  // Every machine gets this one from its setup, so its absence has one cause.
  const builders: Readonly<Record<string, string>> = { base: "abx setup", "code-interpreter-v1": "abx setup --all" };
  const builder = Object.hasOwn(builders, name) ? builders[name] : undefined;
  return `template '${name}' not found${builder === undefined ? "" : `; \`${builder}\` builds it`}`;
}
