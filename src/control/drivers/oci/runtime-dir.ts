import { createHash } from "node:crypto";
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { PackageFiles } from "./package-files.js";

const STAGING_PREFIX = ".staging-";
const EVERYONE_READS_AND_RUNS = 0o555;

/**
 * Make `<runtimeRoot>/<hash>/` with `node`, `daemon.mjs`, the native add-ons and the programs around kernels, unless it is there; returns its path.
 *
 * One directory serves all sandboxes, so its pages are in memory once. It appears complete or not at all.
 */
export function prepareRuntimeDir(
  runtimeRoot: string,
  files: Pick<PackageFiles, "daemon" | "addons"> & Partial<Pick<PackageFiles, "kernels">>,
  node = process.execPath,
): string {
  const sources: Record<string, string> = { node, "daemon.mjs": files.daemon, ...files.addons, ...files.kernels };
  const directory = join(runtimeRoot, fingerprint(sources));
  if (existsSync(directory)) return directory;
  const staging = join(runtimeRoot, `${STAGING_PREFIX}${process.pid}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true });
  chmodSync(staging, 0o755);
  try {
    for (const [name, source] of Object.entries(sources)) {
      mkdirSync(dirname(join(staging, name)), { recursive: true, mode: 0o755 });
      linkOrCopy(source, join(staging, name));
    }
    renameSync(staging, directory);
  } catch (error) {
    // Another process was faster; a directory is only ever renamed into place whole.
    if (!existsSync(directory)) throw error;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return directory;
}

/** Remove runtime directories of other versions that no sandbox has mounted. */
export function pruneRuntimeDirs(runtimeRoot: string, isUsed: (directory: string) => boolean): void {
  for (const name of existsSync(runtimeRoot) ? readdirSync(runtimeRoot) : []) {
    const directory = join(runtimeRoot, name);
    if (!name.startsWith(STAGING_PREFIX) && !isUsed(directory)) rmSync(directory, { recursive: true, force: true });
  }
}

/** Our programs by their content; binaries, which are large and change by being replaced, by path, size and time. */
function fingerprint(sources: Readonly<Record<string, string>>): string {
  const hash = createHash("sha256");
  for (const [name, source] of Object.entries(sources)) {
    if (isProgram(name)) {
      hash.update(`${name}\n`).update(readFileSync(source));
    } else {
      const { size, mtimeMs } = statSync(source);
      hash.update(`${name} ${source} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest("hex").slice(0, 20);
}

function isProgram(name: string): boolean {
  return /\.(mjs|py)$/.test(name);
}

/** A link costs no disk, but carries the modes of its source, and those have to be open to the ids of a sandbox. */
function linkOrCopy(source: string, target: string): void {
  if (!isProgram(target) && (statSync(source).mode & EVERYONE_READS_AND_RUNS) === EVERYONE_READS_AND_RUNS) {
    try {
      linkSync(source, target);
      return;
    } catch {
      // Another file system, or a file of another user (proc(5), protected_hardlinks).
    }
  }
  copyFileSync(source, target, constants.COPYFILE_FICLONE);
  chmodSync(target, 0o755);
}
