import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, lutimesSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";

/** What a step left: the directory of its layer, or `undefined` when it changed no file. */
export interface CachedStep {
  readonly layer: string | undefined;
}

/**
 * Layers of builds in `layers/<id>/`, found by the hash of everything that they were made from.
 *
 * A name in the cache is a link `cache/<key>` → `../<id>`, so one rename puts a layer of a repeated step in the place of another.
 */
export interface LayerStore {
  /** The outcome of a step that was done before. */
  find(key: string): CachedStep | undefined;
  /** A fresh directory on the file system of the layers; {@link LayerStore.keep} or remove it. */
  stage(): string;
  /** Keep a directory as the outcome of a step. */
  keep(key: string, directory: string | undefined): CachedStep;
  /** Remove layers that no build stands on and no build asked for within the last week, and what killed builds left of theirs. */
  prune(used: ReadonlySet<string>): void;
  /** Directories that no build stands on, whenever they were asked for last. Some may be under way while a build runs. */
  unused(used: ReadonlySet<string>): readonly string[];
  /** Remove those, and the names of the steps that they came from. Only while no build runs. */
  clear(used: ReadonlySet<string>): void;
}

const NO_LAYER = "-";
const STAGED_PREFIX = ".new-";
const UNUSED_LIFE_MS = 7 * 24 * 3600_000;
/** No step lasts that long, so a staged directory of this age belongs to nobody. */
const STAGED_LIFE_MS = 24 * 3600_000;

/** Open the store below `templatesDir`. */
export function createLayerStore(templatesDir: string): LayerStore {
  const layersDir = join(templatesDir, "layers");
  const cacheDir = join(layersDir, ".cache");
  const ensure = () => {
    mkdirSync(layersDir, { recursive: true, mode: 0o711 });
    mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
  };

  const read = (key: string): CachedStep | undefined => {
    try {
      const target = readlinkSync(join(cacheDir, key));
      if (target === NO_LAYER) return { layer: undefined };
      const layer = join(layersDir, target);
      return existsSync(layer) ? { layer } : undefined;
    } catch {
      return undefined;
    }
  };

  const cachedKeys = () => (existsSync(cacheDir) ? readdirSync(cacheDir) : []);
  const unused = (used: ReadonlySet<string>) => {
    const names = existsSync(layersDir) ? readdirSync(layersDir) : [];
    return names
      .filter((name) => !name.startsWith(".") || name.startsWith(STAGED_PREFIX))
      .map((name) => join(layersDir, name))
      .filter((path) => !used.has(path));
  };

  return {
    unused,

    clear(used) {
      for (const key of cachedKeys()) {
        const layer = read(key)?.layer;
        if (layer === undefined || !used.has(layer)) rmSync(join(cacheDir, key), { force: true });
      }
      for (const path of unused(used)) rmSync(path, { recursive: true, force: true });
    },

    find(key) {
      const found = read(key);
      if (found !== undefined) lutimesSync(join(cacheDir, key), new Date(), new Date());
      return found;
    },

    stage() {
      ensure();
      return join(layersDir, `${STAGED_PREFIX}${randomUUID()}`);
    },

    keep(key, directory) {
      ensure();
      const id = randomUUID();
      const layer = directory === undefined ? undefined : join(layersDir, id);
      if (directory !== undefined && layer !== undefined) renameSync(directory, layer);
      const link = join(cacheDir, `.${id}`);
      symlinkSync(layer === undefined ? NO_LAYER : id, link);
      renameSync(link, join(cacheDir, key));
      return { layer };
    },

    prune(used) {
      if (!existsSync(layersDir)) return;
      const now = Date.now();
      const wanted = new Set(used);
      for (const key of cachedKeys()) {
        const isFresh = now - lstatSync(join(cacheDir, key)).mtimeMs < UNUSED_LIFE_MS;
        const layer = read(key)?.layer;
        if (isFresh && layer !== undefined) wanted.add(layer);
        if (!isFresh && (layer === undefined || !used.has(layer))) rmSync(join(cacheDir, key), { force: true });
      }
      for (const name of readdirSync(layersDir)) {
        const path = join(layersDir, name);
        const isStaged = name.startsWith(STAGED_PREFIX);
        const isOld = now - lstatSync(path).ctimeMs > STAGED_LIFE_MS;
        if (isStaged ? isOld : !name.startsWith(".") && isOld && !wanted.has(path)) rmSync(path, { recursive: true, force: true });
      }
    },
  };
}
