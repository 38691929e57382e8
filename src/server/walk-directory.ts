import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";

/** Something below a directory. */
export interface WalkedEntry {
  /** Relative to the directory that the walk began at. */
  readonly path: string;
  readonly name: string;
  /** Of a link, the link itself. */
  readonly stats: Stats;
  /** Leads to exactly this entry until the walk goes on, for calls that do not follow a link at the end. */
  readonly hostPath: string;
}

const OPEN_DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * What is in a directory, each directory before what is in it, in the order of the names; links are not followed. What vanishes meanwhile
 * and what cannot be read is left out.
 *
 * @param maxDepth directories below the first one that are entered in a row
 */
export async function* walkDirectory(hostPath: string, maxDepth: number, prefix = ""): AsyncGenerator<WalkedEntry, void, undefined> {
  const directory = await openOrSkip(hostPath, prefix === "");
  if (directory === undefined) return;
  try {
    const own = `/proc/self/fd/${directory.fd}`;
    for (const name of (await readdir(own)).sort()) {
      const stats = await lstat(`${own}/${name}`).catch(() => undefined);
      if (stats === undefined) continue;
      const path = prefix + name;
      yield { path, name, stats, hostPath: `${own}/${name}` };
      if (stats.isDirectory() && maxDepth > 0) yield* walkDirectory(`${own}/${name}`, maxDepth - 1, `${path}/`);
    }
  } finally {
    await directory.close();
  }
}

async function openOrSkip(hostPath: string, isFirst: boolean): Promise<FileHandle | undefined> {
  try {
    return await open(hostPath, OPEN_DIRECTORY);
  } catch (error) {
    if (isFirst) throw error;
    return undefined;
  }
}
