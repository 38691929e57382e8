import { existsSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AlreadyExistsError, FailedPreconditionError } from "../../errors/error-classes.js";
import { hasOpen, readDataHolder } from "../data-holder.js";
import { acquireInstanceLock, findLockHolder } from "../instance-lock.js";
import { type PlatformPaths, resolvePaths } from "../paths.js";

/** A platform gives what it is doing up to this time. */
const STOP_TIMEOUT_MS = 60_000;
const LOOK_AGAIN_MS = 25;

/** What was stopped. */
export interface StoppedPlatform {
  /** `undefined` when none ran. */
  readonly pid: number | undefined;
  /** Sandboxes that the data directory has: they go on, or stay paused, until the next platform. */
  readonly sandboxCount: number;
}

/**
 * End the platform of a run directory with SIGTERM, and wait until it has ended.
 *
 * @throws {@link FailedPreconditionError} it belongs to another user, does not say who it is, or does not end in time.
 */
export async function stopPlatform(paths: PlatformPaths = resolvePaths()): Promise<StoppedPlatform> {
  const pid = findRunningPid(paths);
  if (pid !== undefined) await endProcess(pid, paths.lockFile);
  return { pid, sandboxCount: countSandboxes(paths.sandboxesDir) };
}

/** The process that holds the lock: a pid in a file may have become another process's. */
function findRunningPid({ lockFile, dataDir }: PlatformPaths): number | undefined {
  if (!existsSync(lockFile)) return undefined;
  const noted = findLockHolder(lockFile) ?? readDataHolder(dataDir)?.pid;
  if (noted !== undefined && hasOpen(noted, lockFile)) return noted;
  try {
    acquireInstanceLock(lockFile).release();
    return undefined;
  } catch (error) {
    if (!AlreadyExistsError.isInstance(error)) throw error;
    throw new FailedPreconditionError(
      `the process that holds ${lockFile} is not known: a platform that starts, another abx, or one of another user; try again in a moment`,
      { cause: error },
    );
  }
}

async function endProcess(pid: number, lockFile: string): Promise<void> {
  try {
    process.kill(pid, "SIGTERM");
  } catch (cause) {
    // It may have ended by itself meanwhile.
    if ((cause as NodeJS.ErrnoException).code === "ESRCH") return;
    throw new FailedPreconditionError(`the platform (pid ${pid}) cannot be stopped by this user: ${(cause as Error).message}`, { cause });
  }
  const endsAt = performance.now() + STOP_TIMEOUT_MS;
  while (hasOpen(pid, lockFile)) {
    if (performance.now() > endsAt) {
      throw new FailedPreconditionError(
        `the platform (pid ${pid}) got SIGTERM and has not ended after ${STOP_TIMEOUT_MS / 1000} s; its log tells what it waits for, \`kill -9 ${pid}\` ends it`,
      );
    }
    await sleep(LOOK_AGAIN_MS);
  }
}

/** Names with a dot are attempts of `abx doctor`. */
function countSandboxes(sandboxesDir: string): number {
  return existsSync(sandboxesDir) ? readdirSync(sandboxesDir).filter((name) => !name.startsWith(".")).length : 0;
}
