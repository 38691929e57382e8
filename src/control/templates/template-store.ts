import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InternalError, TemplateError } from "../../errors/error-classes.js";
import { parseTemplateReference } from "./template-reference.js";

/** What `template.json` of a build says. */
export interface TemplateBuild {
  readonly templateId: string;
  readonly buildId: string;
  /** Host id that owns the files of root in `rootfs/`. */
  readonly hostIdBase: number;
  /** Defaults of a sandbox that is made from it. */
  readonly cpuCount: number;
  readonly memoryMb: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Fingerprint of what it was built from; another one means that the build is out of date. */
  readonly recipe: string;
}

/** A build that a reference leads to. */
export interface ResolvedTemplate extends TemplateBuild {
  /** Names of the template; the first is the one that a user sees. */
  readonly aliases: readonly string[];
  /** Directory with `rootfs/` and `template.json`. */
  readonly directory: string;
}

/** Templates on the disk: `<templateId>/<buildId>/{rootfs/,template.json}` and the table of names, `index.json`. */
export interface TemplateStore {
  /**
   * Find the build of a reference (`[namespace/]name[:tag]`, where the name is an alias or an id).
   *
   * @throws {@link InvalidArgumentError} not a reference; {@link TemplateError} unknown template or tag.
   */
  resolve(reference: string): ResolvedTemplate;
  /** Every template with its default build, by first alias. */
  list(): readonly ResolvedTemplate[];
  /**
   * Move a finished build into place and point `tag` of its template at it. A build that was there under the tag stays on the disk.
   *
   * @param stagedDirectory a directory on the same file system with `rootfs/`.
   */
  publish(
    stagedDirectory: string,
    build: TemplateBuild,
    names: { readonly aliases: readonly string[]; readonly tag: string },
  ): ResolvedTemplate;
  /** Remove builds that no tag names, except those that `isUsed` claims. */
  prune(isUsed: (build: { readonly templateId: string; readonly buildId: string }) => boolean): void;
}

interface IndexEntry {
  readonly aliases: readonly string[];
  /** Build id per tag. */
  readonly tags: Readonly<Record<string, string>>;
}

type Index = Readonly<Record<string, IndexEntry>>;

const INDEX_FILE = "index.json";
const ID = /^[a-z0-9]{20}$/;

/** Open the store in `templatesDir`; the directory may be missing as long as nothing is published. */
export function createTemplateStore(templatesDir: string): TemplateStore {
  const indexFile = join(templatesDir, INDEX_FILE);

  const readIndex = (): Index => {
    if (!existsSync(indexFile)) return {};
    try {
      return JSON.parse(readFileSync(indexFile, "utf8")) as Index;
    } catch (cause) {
      throw new InternalError(`The table of templates ${indexFile} cannot be read; move it away and run "abx setup".`, { cause });
    }
  };

  const writeIndex = (index: Index): void => {
    const staged = `${indexFile}.${process.pid}`;
    writeFileSync(staged, `${JSON.stringify(index, null, 2)}\n`);
    renameSync(staged, indexFile);
  };

  const readBuild = (templateId: string, buildId: string, aliases: readonly string[]): ResolvedTemplate | undefined => {
    const directory = join(templatesDir, templateId, buildId);
    try {
      const build = JSON.parse(readFileSync(join(directory, "template.json"), "utf8")) as TemplateBuild;
      return { ...build, aliases, directory };
    } catch {
      return undefined;
    }
  };

  return {
    resolve(reference) {
      const { name, tag, namespace } = parseTemplateReference(reference);
      const index = readIndex();
      const isNamed = ([id, entry]: [string, IndexEntry]) => id === name || entry.aliases.includes(name);
      // There are no namespaces on one machine, so a qualified name leads nowhere.
      const found = namespace === undefined ? Object.entries(index).find(isNamed) : undefined;
      if (found === undefined) throw new TemplateError(notFoundText(reference));
      const [templateId, { aliases, tags }] = found;
      const buildId = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
      if (buildId === undefined) throw new TemplateError(`tag '${tag}' does not exist for template '${name}'`);
      const build = readBuild(templateId, buildId, aliases);
      if (build === undefined) throw new TemplateError(notFoundText(reference));
      return build;
    },

    list() {
      return Object.entries(readIndex()).flatMap(([templateId, { aliases, tags }]) => {
        const buildId = tags.default;
        const build = buildId === undefined ? undefined : readBuild(templateId, buildId, aliases);
        return build === undefined ? [] : [build];
      });
    },

    publish(stagedDirectory, build, { aliases, tag }) {
      writeFileSync(join(stagedDirectory, "template.json"), `${JSON.stringify(build, null, 2)}\n`);
      const directory = join(templatesDir, build.templateId, build.buildId);
      mkdirSync(join(templatesDir, build.templateId), { recursive: true, mode: 0o711 });
      renameSync(stagedDirectory, directory);
      const index = readIndex();
      const before = index[build.templateId];
      const allAliases = [...new Set([...aliases, ...(before?.aliases ?? [])])];
      writeIndex({ ...index, [build.templateId]: { aliases: allAliases, tags: { ...before?.tags, [tag]: build.buildId } } });
      return { ...build, aliases: allAliases, directory };
    },

    prune(isUsed) {
      if (!existsSync(templatesDir)) return;
      const index = readIndex();
      for (const templateId of readdirSync(templatesDir).filter((name) => ID.test(name))) {
        const tagged = new Set(Object.values(index[templateId]?.tags ?? {}));
        for (const buildId of readdirSync(join(templatesDir, templateId))) {
          if (tagged.has(buildId) || isUsed({ templateId, buildId })) continue;
          rmSync(join(templatesDir, templateId, buildId), { recursive: true, force: true });
        }
      }
    },
  };
}

function notFoundText(reference: string): string {
  const name = reference.trim();
  // Every machine gets this one from its setup, so its absence has one cause.
  return `template '${name}' not found${name === "base" ? "; `abx setup` builds it" : ""}`;
}
