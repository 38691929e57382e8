import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AlreadyExistsError, FailedPreconditionError } from "../../errors/error-classes.js";
import { findDataHolder } from "../data-holder.js";
import { acquireInstanceLock } from "../instance-lock.js";
import { findUsedLayers } from "../layer-users.js";
import { type PlatformPaths, resolvePaths } from "../paths.js";
import { createLayerStore } from "../templates/layer-store.js";
import { betweenSystemBuilds } from "../templates/system-templates.js";
import { createTemplateStore } from "../templates/template-store.js";
import { UploadStore } from "../templates/upload-store.js";

/** What is removed, and how. */
export interface PruneOptions {
  /** Only tell; needs no stopped platform. @defaultValue false */
  readonly isDryRun?: boolean;
  /** Receives a line when another process is waited for. */
  readonly onProgress: (line: string) => void;
  /** @defaultValue the paths of this user's platform */
  readonly paths?: PlatformPaths;
}

/** A directory or file that nothing stands on. */
export interface PrunedItem {
  /** `build`: of a template, without a tag. `layer`: of a step of a build, kept to save time. `upload`: files of COPY steps. */
  readonly kind: "build" | "layer" | "upload";
  readonly path: string;
  /** What it has on the disk. */
  readonly sizeBytes: number;
}

/**
 * Remove what the platform keeps of templates to save time, and builds that no tag leads to. Sandboxes, snapshots, volumes, templates with a tag
 * and everything that these stand on stay.
 *
 * @throws {@link FailedPreconditionError} the platform runs, and may need it at any moment.
 */
export async function prunePlatform({
  isDryRun = false,
  onProgress,
  paths = resolvePaths(),
}: PruneOptions): Promise<readonly PrunedItem[]> {
  if (!existsSync(paths.templatesDir)) return [];
  // Sandboxes name their layers by whole paths, perhaps by another way to the same directory.
  const templatesDir = realpathSync(paths.templatesDir);
  if (isDryRun) return findUnused(templatesDir, paths).items;
  mkdirSync(paths.runDir, { recursive: true, mode: 0o700 });
  const lock = lockPlatform(paths);
  try {
    const work = async () => {
      const { items, usedLayers } = findUnused(templatesDir, paths);
      for (const { path } of items) rmSync(path, { recursive: true, force: true });
      createLayerStore(templatesDir).clear(usedLayers);
      return items;
    };
    return await betweenSystemBuilds(templatesDir, work, () => onProgress("another process is building a template; waiting for it"));
  } finally {
    lock.release();
  }
}

function lockPlatform({ lockFile, databaseFile }: PlatformPaths) {
  // One with another run directory may have the data.
  const holder = findDataHolder(databaseFile);
  if (holder !== undefined) throw isRunning(`pid ${holder.pid}, run directory ${holder.runDir}`);
  try {
    return acquireInstanceLock(lockFile);
  } catch (cause) {
    if (!(cause instanceof AlreadyExistsError)) throw cause;
    throw isRunning(lockFile, cause);
  }
}

function isRunning(which: string, cause?: AlreadyExistsError) {
  return new FailedPreconditionError(
    `the platform of this machine runs (${which}), and a build may need what would be removed: end it with \`abx system stop\`, or let it end by itself when there was nothing to do for a while`,
    { cause },
  );
}

interface Found {
  readonly items: readonly PrunedItem[];
  /** Layers that something stands on once the items are gone. */
  readonly usedLayers: ReadonlySet<string>;
}

function findUnused(templatesDir: string, paths: PlatformPaths): Found {
  const store = createTemplateStore(templatesDir);
  const usedOutside = new Set([...findUsedLayers(paths)].flatMap((path) => [path, ...(existsSync(path) ? [realpathSync(path)] : [])]));
  // Without its table of names no template has a tag, and then that is what is wrong.
  const builds = store.templates().length === 0 ? [] : store.unused(usedOutside);
  const usedLayers = new Set([...usedOutside, ...store.layersInUse(builds)]);
  const found = {
    build: builds,
    layer: createLayerStore(templatesDir).unused(usedLayers),
    upload: new UploadStore(templatesDir, "").files(),
  };
  const items = (Object.keys(found) as PrunedItem["kind"][]).flatMap((kind) =>
    found[kind].map((path) => ({ kind, path, sizeBytes: sizeOnDisk(path) })),
  );
  return { items, usedLayers };
}

function sizeOnDisk(path: string): number {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return 0;
  const own = entry.blocks * 512;
  if (!entry.isDirectory()) return own;
  return readdirSync(path).reduce((sum, name) => sum + sizeOnDisk(join(path, name)), own);
}
