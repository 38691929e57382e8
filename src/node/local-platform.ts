import { homedir } from "node:os";
import path from "node:path";
import { FailedPreconditionError } from "../errors/error-classes.js";
import type { LocalPlatform, LocalPlatformOptions } from "../sandbox/local-platform-types.js";
import { PLATFORM_FILE_NAME, type PlatformFile, parsePlatformFile, platformDirs } from "../shared/platform-dirs.js";
import { isProcessAlive, takeProcessLock } from "../shared/process-lock-node.js";
import { launchPlatform } from "./launch-platform.js";
import { answersHealth } from "./platform-health.js";
import { openPrivateDir, readPrivateFile } from "./private-dir.js";

const START_TIMEOUT_MS = 10_000;
const LAUNCH_LOCK_NAME = "launch.lock";

/** Where the platform of this machine is, and how long its start may take. */
export interface LocalPlatformStartOptions extends LocalPlatformOptions {
  /** Milliseconds that a start may take. @defaultValue 10_000 */
  readonly startTimeoutMs?: number | undefined;
}

/**
 * Find the running local platform of this user, or start `abx serve` in the background.
 *
 * However many callers and processes ask at once, one platform is started.
 *
 * @throws {@link FailedPreconditionError} it cannot run here or did not start in time; the message has the end of its log.
 */
export async function findOrStartLocalPlatform(options: LocalPlatformStartOptions = {}): Promise<LocalPlatform> {
  if (process.platform !== "linux") {
    throw new FailedPreconditionError(
      `the local platform runs on Linux only, not on ${process.platform}; pass apiUrl and apiKey of a server, or set AGENT_SANDBOX_API_URL and AGENT_SANDBOX_API_KEY`,
      { operation: "localPlatform" },
    );
  }
  options.signal?.throwIfAborted();
  const runDir = localRunDir();
  const running = await findRunning(runDir);
  if (running !== undefined) return toLocalPlatform(running);

  await openPrivateDir(runDir);
  return toLocalPlatform(await startOnce(runDir, options));
}

/** The running local platform of this user; `undefined` when there is none that answers. */
export async function findLocalPlatform(): Promise<LocalPlatform | undefined> {
  const running = await findRunning(localRunDir());
  return running === undefined ? undefined : toLocalPlatform(running);
}

async function startOnce(runDir: string, { signal, startTimeoutMs = START_TIMEOUT_MS }: LocalPlatformStartOptions): Promise<PlatformFile> {
  const deadline = AbortSignal.timeout(startTimeoutMs);
  let running: PlatformFile | undefined;
  const isRunning = async (): Promise<boolean> => {
    running = await findRunning(runDir);
    return running !== undefined;
  };
  const lockPath = path.join(runDir, LAUNCH_LOCK_NAME);
  const lock = await takeProcessLock(lockPath, isRunning, signal === undefined ? deadline : AbortSignal.any([signal, deadline])).catch(
    (error: unknown) => {
      if (error !== deadline.reason) throw error;
      throw new FailedPreconditionError(`the local platform did not start within ${startTimeoutMs} ms: another process holds ${lockPath}`, {
        operation: "localPlatform",
        cause: error,
      });
    },
  );
  try {
    return running ?? (await launchPlatform({ runDir, find: () => findRunning(runDir), signal, deadline }));
  } finally {
    await lock?.release();
  }
}

/** Run directory of this user's platform, by the environment of this process. */
function localRunDir(): string {
  return path.resolve(platformDirs({ env: process.env, uid: process.getuid?.(), homeDir: homedir() }).runDir);
}

async function findRunning(runDir: string): Promise<PlatformFile | undefined> {
  const text = await readPrivateFile(path.join(runDir, PLATFORM_FILE_NAME));
  const file = text === undefined ? undefined : parsePlatformFile(text);
  if (file === undefined || !isProcessAlive(file.pid)) return undefined;
  return (await answersHealth(file.url)) ? file : undefined;
}

function toLocalPlatform(file: PlatformFile): LocalPlatform {
  return { apiUrl: file.url, sandboxUrl: file.url, apiKey: file.apiKey };
}
