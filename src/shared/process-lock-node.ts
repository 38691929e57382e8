import { randomUUID } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const RETRY_MS = 25;

/** Held until `release`; a holder that dies frees it by its death. */
export interface ProcessLock {
  release(): Promise<void>;
}

/**
 * Take a lock that one process at a time can hold, breaking one whose holder is dead.
 *
 * `isPointless` is asked before every try: true ends the wait with `undefined`.
 */
export async function takeProcessLock(
  lockPath: string,
  isPointless: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<ProcessLock | undefined> {
  const token = `${process.pid} ${await startTimeOf(process.pid)} ${randomUUID()}`;
  const draftPath = `${lockPath}.${process.pid}.${randomUUID()}`;
  await writeFile(draftPath, token, { mode: 0o600 });
  try {
    for (;;) {
      signal.throwIfAborted();
      if (await isPointless()) return undefined;
      // A link appears with its content, so no reader ever sees a lock without a holder.
      if (await tryLink(draftPath, lockPath)) return { release: () => releaseLock(lockPath, token) };
      if (!(await breakStaleLock(lockPath))) await sleep(RETRY_MS);
    }
  } finally {
    await rm(draftPath, { force: true });
  }
}

/** True while a live process holds the lock. */
export async function isProcessLockHeld(lockPath: string): Promise<boolean> {
  const token = await readText(lockPath);
  return token !== undefined && isHolderAlive(token);
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function releaseLock(lockPath: string, token: string): Promise<void> {
  if ((await readText(lockPath)) === token) await rm(lockPath, { force: true });
}

/** True when the lock was stale and is gone now. */
async function breakStaleLock(lockPath: string): Promise<boolean> {
  const seen = await readText(lockPath);
  if (seen === undefined) return true;
  if (await isHolderAlive(seen)) return false;
  const asidePath = `${lockPath}.stale.${randomUUID()}`;
  try {
    await rename(lockPath, asidePath);
  } catch {
    return true;
  }
  // Between the read and the rename somebody may have broken the lock and taken it: then it goes back to its holder.
  if ((await readText(asidePath)) !== seen) await tryLink(asidePath, lockPath);
  await rm(asidePath, { force: true });
  return true;
}

async function isHolderAlive(token: string): Promise<boolean> {
  const [pidText, startTime] = token.split(" ");
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  // A pid that was used again has another start time.
  return isProcessAlive(pid) && (await startTimeOf(pid)) === startTime;
}

/** True while a process with the pid exists, whoever owns it. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Field 22 of /proc/<pid>/stat (man 5 proc), in clock ticks since boot; `-` where there is no /proc. */
async function startTimeOf(pid: number): Promise<string> {
  const stat = await readText(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "-";
}

async function readText(filePath: string): Promise<string | undefined> {
  return readFile(filePath, "utf8").catch(() => undefined);
}
