import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const RETRY_MS = 250;

/**
 * Hold a lock file in `directory` while `work` runs, waiting for another process that holds it. A lock of a dead process is taken over.
 *
 * @param onWait called once when another process holds the lock.
 */
export async function withLock<T>(directory: string, name: string, work: () => Promise<T>, onWait: () => void): Promise<T> {
  mkdirSync(directory, { recursive: true, mode: 0o711 });
  const lockFile = join(directory, name);
  for (let tries = 0; !tryLock(lockFile); tries += 1) {
    if (tries === 0) onWait();
    await delay(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function tryLock(lockFile: string): boolean {
  // A link appears with its content, so nobody ever reads an empty lock.
  const staged = `${lockFile}.${process.pid}`;
  writeFileSync(staged, processIdentity(process.pid) ?? "");
  try {
    linkSync(staged, lockFile);
    return true;
  } catch {
    if (isStale(lockFile)) rmSync(lockFile, { force: true });
    return false;
  } finally {
    rmSync(staged, { force: true });
  }
}

function isStale(lockFile: string): boolean {
  try {
    const holder = readFileSync(lockFile, "utf8");
    return processIdentity(Number.parseInt(holder, 10)) !== holder;
  } catch {
    return false;
  }
}

/** Pid and start time, so that a reused pid is not taken for the holder. */
function processIdentity(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Fields are counted after the name, which may hold spaces and parentheses; the start time is field 22 of proc(5).
    return `${pid} ${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
  } catch {
    return undefined;
  }
}
