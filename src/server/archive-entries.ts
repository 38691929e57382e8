import { constants, type Stats } from "node:fs";
import { open, readlink } from "node:fs/promises";
import { posix } from "node:path";
import type { ConfinedFiles } from "./confined-files.js";
import { RouteFailure } from "./route-failure.js";
import { walkDirectory } from "./walk-directory.js";

/** One entry of an archive that is made. */
export interface ArchiveEntry {
  /** Relative to the base directory. */
  readonly path: string;
  readonly kind: "file" | "directory" | "symlink";
  readonly mode: number;
  readonly mtimeMs: number;
  /** Target of a link; empty for others. */
  readonly linkPath: string;
  /** Content of a file; empty for others. */
  readonly bytes: Uint8Array;
}

const MAX_FILES = 10_000;
const OPEN_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const MAX_DEPTH = 100;

/**
 * What is at the paths, and below those that are directories. Links are given as links; sockets, pipes and devices are left out.
 *
 * @throws {@link RouteFailure} 413: more than 10000 entries, or a file above `maxFileBytes`.
 */
export async function* archiveEntries(
  files: ConfinedFiles,
  paths: readonly string[],
  maxFileBytes: number,
): AsyncGenerator<ArchiveEntry, void, undefined> {
  let count = 0;
  const counted = async (path: string, hostPath: string, stats: Stats): Promise<ArchiveEntry | undefined> => {
    const entry = await toEntry(path, hostPath, stats, maxFileBytes);
    if (entry !== undefined) count += 1;
    if (count > MAX_FILES)
      throw new RouteFailure(413, "ValueError", `the archive would have more than ${MAX_FILES} files`, "payload_too_large");
    return entry;
  };
  const base = await files.place(".");
  const basePath = base.path;
  await base[Symbol.asyncDispose]();
  for (const wanted of paths) {
    await using place = await files.place(wanted, { followsLast: false });
    const stats = await files.stat(place);
    const path = posix.relative(basePath, place.path);
    const entry = path === "" ? undefined : await counted(path, place.hostPath, stats);
    if (entry !== undefined) yield entry;
    if (!stats.isDirectory()) continue;
    for await (const below of walkDirectory(place.hostPath, MAX_DEPTH)) {
      const found = await counted(posix.join(path, below.path), below.hostPath, below.stats);
      if (found !== undefined) yield found;
    }
  }
}

async function toEntry(path: string, hostPath: string, stats: Stats, maxFileBytes: number): Promise<ArchiveEntry | undefined> {
  const facts = { path, mode: stats.mode & 0o7777, mtimeMs: stats.mtimeMs, linkPath: "", bytes: new Uint8Array() };
  if (stats.isDirectory()) return { ...facts, kind: "directory" };
  if (stats.isSymbolicLink()) return { ...facts, kind: "symlink", linkPath: await readlink(hostPath) };
  if (!stats.isFile()) return undefined;
  await using file = await open(hostPath, OPEN_READ);
  const { size } = await file.stat();
  if (size > maxFileBytes)
    throw new RouteFailure(413, "ValueError", `'${path}' has ${size} bytes, above the limit of ${maxFileBytes}`, "payload_too_large");
  return { ...facts, kind: "file", bytes: await file.readFile() };
}
