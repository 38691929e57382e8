import { lstat, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { PLATFORM_FILE_NAME, parsePlatformFile } from "../shared/platform-dirs.js";
import { isProcessAlive, isProcessLockHeld } from "../shared/process-lock-node.js";

/** How the directories of test platforms begin. */
export const DIRECTORY_PREFIX = "agent-sandbox-test-";
/** Held by the process that a platform belongs to. */
export const OWNER_LOCK = "owner.lock";

/** Milliseconds in which the owner of a new directory takes its lock. */
const NEW_MS = 60_000;

/** Remove what platforms left whose suites were killed: directories of this user without an owner, a platform and sandboxes. */
export async function removeStaleDirectories(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const directory = path.join(parent, name);
    // What cannot be removed harms nobody, and another suite may do the same at this moment.
    if (name.startsWith(DIRECTORY_PREFIX) && (await isStale(directory)))
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function isStale(directory: string): Promise<boolean> {
  const stats = await lstat(directory).catch(() => undefined);
  if (stats === undefined || !stats.isDirectory() || stats.uid !== process.getuid?.()) return false;
  if (Date.now() - stats.mtimeMs < NEW_MS || (await isProcessLockHeld(path.join(directory, OWNER_LOCK)))) return false;
  const platform = parsePlatformFile(await readFile(path.join(directory, "run", PLATFORM_FILE_NAME), "utf8").catch(() => ""));
  if (platform !== undefined && isProcessAlive(platform.pid)) return false;
  return (await readdir(path.join(directory, "data", "sandboxes")).catch(() => [])).length === 0;
}
