import { chmodSync, constants, lchownSync, lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { IdRange } from "../drivers/oci/id-range.js";

const SETUID_SETGID_STICKY = 0o7000;

/**
 * Give every file below `root` (and `root`) to the id range: uid 0 becomes `range.base`, and so on; links are not followed.
 *
 * The kernel drops file capabilities on a change of owner, and setuid bits too: those are put back. Ids that are already in the range
 * stay, so a second run changes nothing.
 */
export function shiftOwnership(root: string, range: IdRange): void {
  shiftOne(root, range);
  shiftBelow(root, range);
}

function shiftBelow(directory: string, range: IdRange): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    shiftOne(path, range);
    if (entry.isDirectory()) shiftBelow(path, range);
  }
}

function shiftOne(path: string, { base, size }: IdRange): void {
  const { uid, gid, mode } = lstatSync(path);
  const shifted = (id: number) => (id < size ? base + id : id);
  lchownSync(path, shifted(uid), shifted(gid));
  if (!isSymbolicLink(mode) && (mode & SETUID_SETGID_STICKY) !== 0) chmodSync(path, mode & 0o7777);
}

function isSymbolicLink(mode: number): boolean {
  return (mode & constants.S_IFMT) === constants.S_IFLNK;
}
