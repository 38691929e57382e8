import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InternalError } from "../../errors/error-classes.js";
import { withLock } from "./staging-lock.js";

/** What the table of templates says about one. */
export interface IndexEntry {
  readonly aliases: readonly string[];
  /** Build id per tag. */
  readonly tags: Readonly<Record<string, string>>;
  /** When a tag was last given, ISO 8601; absent for tags of older versions. */
  readonly taggedAt?: Readonly<Record<string, string>>;
  /** @defaultValue false */
  readonly isPublic?: boolean;
}

/** Template id → entry. */
export type TemplateIndex = Readonly<Record<string, IndexEntry>>;

const INDEX_FILE = "index.json";
const LOCK_NAME = ".index.lock";

/**
 * Read the table; empty when nothing was ever published.
 *
 * @throws {@link InternalError} the file is damaged; the message says what to do.
 */
export function readTemplateIndex(templatesDir: string): TemplateIndex {
  const file = join(templatesDir, INDEX_FILE);
  if (!existsSync(file)) return {};
  try {
    return JSON.parse(readFileSync(file, "utf8")) as TemplateIndex;
  } catch (cause) {
    throw new InternalError(`The table of templates ${file} cannot be read; move it away and run "abx setup".`, { cause });
  }
}

/** Replace the table in one step; changes of other processes, such as `abx setup`, wait for each other. */
export async function changeTemplateIndex(templatesDir: string, change: (index: TemplateIndex) => TemplateIndex): Promise<void> {
  await withLock(
    templatesDir,
    LOCK_NAME,
    async () => {
      const file = join(templatesDir, INDEX_FILE);
      const staged = `${file}.${process.pid}`;
      writeFileSync(staged, `${JSON.stringify(change(readTemplateIndex(templatesDir)), null, 2)}\n`);
      renameSync(staged, file);
    },
    () => undefined,
  );
}

/** The entry with `tags` leading to a build. */
export function withTags(entry: IndexEntry | undefined, tags: readonly string[], buildId: string, aliases: readonly string[]): IndexEntry {
  const now = new Date().toISOString();
  return {
    ...entry,
    aliases: [...new Set([...(entry?.aliases ?? []), ...aliases])],
    tags: { ...entry?.tags, ...Object.fromEntries(tags.map((tag) => [tag, buildId])) },
    taggedAt: { ...entry?.taggedAt, ...Object.fromEntries(tags.map((tag) => [tag, now])) },
  };
}

/** The entry without `tags`. */
export function withoutTags(entry: IndexEntry, tags: readonly string[]): IndexEntry {
  const left = <T>(values: Readonly<Record<string, T>> | undefined) =>
    Object.fromEntries(Object.entries(values ?? {}).filter(([tag]) => !tags.includes(tag)));
  return { ...entry, tags: left(entry.tags), taggedAt: left(entry.taggedAt) };
}
