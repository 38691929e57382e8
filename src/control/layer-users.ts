import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { usedLowerDirs } from "./drivers/oci/sandbox-files.js";
import type { PlatformPaths } from "./paths.js";
import { layersOf, type TemplateBuild } from "./templates/template-store.js";

/** Directories of the layers that sandboxes and snapshots stand on, which must stay whatever becomes of their templates. */
export function findUsedLayers({ sandboxesDir, snapshotsDir }: Pick<PlatformPaths, "sandboxesDir" | "snapshotsDir">): ReadonlySet<string> {
  const sandboxes = namesIn(sandboxesDir).flatMap((name) => usedLowerDirs(join(sandboxesDir, name)));
  const snapshots = namesIn(snapshotsDir).flatMap((name) => layersOfSnapshot(join(snapshotsDir, name)));
  return new Set([...sandboxes, ...snapshots]);
}

/** Layers of one snapshot, lowest first; empty when it is not whole. */
export function layersOfSnapshot(directory: string): readonly string[] {
  try {
    return layersOf(JSON.parse(readFileSync(join(directory, "template.json"), "utf8")) as TemplateBuild, directory);
  } catch {
    return [];
  }
}

function namesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}
