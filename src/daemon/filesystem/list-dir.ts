import { readdir, stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { type EntryInfo, FileType } from "../../../gen/proto/filesystem/filesystem_pb.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { readEntryInfoIfPresent } from "./entry-info.js";
import type { FileContext } from "./file-context.js";
import { fileError } from "./file-error.js";

/** Entries looked up before other requests get their turn: about 5 ms. */
const BATCH = 512;

/**
 * Entries below `root` down to `depth` levels (0 counts as 1), each directory before its contents, names in code unit order. Links
 * are listed but not entered, except `root` itself; what vanishes meanwhile is left out.
 *
 * @throws {@link FileNotFoundError} nothing is at `root`; {@link InvalidArgumentError} it is not a directory;
 * {@link FailedPreconditionError} it leads through a loop of links.
 */
export async function listDirectory(root: string, depth: number, context: FileContext): Promise<EntryInfo[]> {
  try {
    if (!(await stat(root)).isDirectory()) throw new InvalidArgumentError(`path '${root}' is not a directory`);
    const entries: EntryInfo[] = [];
    const lookup = { users: context.users.snapshot(), metadata: context.metadata };
    await collect(root, await readdir(root), Math.max(depth, 1), entries, lookup);
    return entries;
  } catch (error) {
    throw fileError(error, "list", root);
  }
}

type Lookup = Parameters<typeof readEntryInfoIfPresent>[1];

async function collect(directory: string, names: string[], depth: number, entries: EntryInfo[], lookup: Lookup): Promise<void> {
  for (const name of names.sort()) {
    const path = directory === "/" ? `/${name}` : `${directory}/${name}`;
    const entry = readEntryInfoIfPresent(path, lookup);
    if (entry === undefined) continue;
    entries.push(entry);
    if (entries.length % BATCH === 0) await setImmediate();
    if (depth > 1 && entry.type === FileType.DIRECTORY && entry.symlinkTarget === undefined) {
      await collect(path, await readdir(path).catch(() => []), depth - 1, entries, lookup);
    }
  }
}
