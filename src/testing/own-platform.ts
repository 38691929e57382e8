import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { FailedPreconditionError, Sandbox } from "../index.js";
import { findAbxPath } from "../node/abx-path.js";
import type { LocalPlatform } from "../node/index.js";
import { platformEnvironment } from "../node/platform-environment.js";
import { answersHealth } from "../node/platform-health.js";
import { pause } from "../shared/pause.js";
import { PLATFORM_FILE_NAME, type PlatformFile, parsePlatformFile, platformDirs } from "../shared/platform-dirs.js";
import { takeProcessLock } from "../shared/process-lock-node.js";
import { DIRECTORY_PREFIX, OWNER_LOCK, removeStaleDirectories } from "./stale-directories.js";

export interface OwnPlatformOptions {
  readonly startTimeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A platform that belongs to this process. */
export interface OwnPlatform {
  readonly platform: LocalPlatform;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;
const LOOK_AGAIN_MS = 20;
const LOCK_MS = 10_000;
const LOG_CHARACTERS = 4_000;

/** Start `abx serve` in new directories. */
export async function startOwnPlatform(options: OwnPlatformOptions): Promise<OwnPlatform> {
  const abxPath = findAbxPath();
  await removeStaleDirectories(tmpdir());
  const directories = await makeDirectories();
  const child = spawn(process.execPath, [abxPath, "serve", "--on-demand"], {
    cwd: "/",
    env: { ...platformEnvironment(), AGENT_SANDBOX_DATA_DIR: directories.dataDir, AGENT_SANDBOX_RUN_DIR: directories.runDir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const endWithUs = (): void => void child.kill("SIGTERM");
  process.once("exit", endWithUs);
  // Neither the process nor its log keeps a suite alive that forgot to stop it.
  child.unref();
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-LOG_CHARACTERS);
  });
  if ("unref" in child.stderr && typeof child.stderr.unref === "function") child.stderr.unref();
  const end = async (): Promise<void> => {
    process.off("exit", endWithUs);
    await endChild(child);
    await rm(directories.rootDir, { recursive: true, force: true });
  };
  try {
    const { url, apiKey } = await untilReady(child, path.join(directories.runDir, PLATFORM_FILE_NAME), options);
    const platform = { apiUrl: url, sandboxUrl: url, apiKey };
    let stopped: Promise<void> | undefined;
    const stop = async (): Promise<void> => {
      // Sandboxes outlive their platform, so they are ended first.
      try {
        if (isAlive(child)) await killAll(platform);
      } finally {
        await end();
      }
    };
    return {
      platform,
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await end();
    if (error === options.signal?.reason) throw error;
    throw new FailedPreconditionError(`the test platform did not start: ${(error as Error).message}\n${log}`.trimEnd(), { cause: error });
  }
}

/** Directories below one in the temporary directory; templates are the machine's. */
async function makeDirectories(): Promise<{ readonly rootDir: string; readonly dataDir: string; readonly runDir: string }> {
  const machine = platformDirs({ env: process.env, uid: process.getuid?.(), homeDir: homedir() });
  const templatesDir = path.resolve(machine.dataDir, "templates");
  if (!existsSync(templatesDir)) {
    throw new FailedPreconditionError(`this machine has no templates in ${templatesDir}; run \`abx setup\` once`);
  }
  // 0711: the kernel enters these directories with the ids of the sandbox.
  const rootDir = await mkdtemp(path.join(tmpdir(), DIRECTORY_PREFIX));
  const dataDir = path.join(rootDir, "data");
  const runDir = path.join(rootDir, "run");
  // Never released: it goes with the directory, or shows that its owner is dead.
  await takeProcessLock(path.join(rootDir, OWNER_LOCK), async () => false, AbortSignal.timeout(LOCK_MS));
  await chmod(rootDir, 0o711);
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(runDir, { mode: 0o700 });
  await symlink(templatesDir, path.join(dataDir, "templates"));
  return { rootDir, dataDir, runDir };
}

async function untilReady(
  child: ChildProcess,
  filePath: string,
  { startTimeoutMs = START_TIMEOUT_MS, signal }: OwnPlatformOptions,
): Promise<PlatformFile> {
  const endAt = performance.now() + startTimeoutMs;
  let failure: Error | undefined;
  child.once("error", (error) => {
    failure = error;
  });
  while (isAlive(child) && failure === undefined) {
    const file = parsePlatformFile(await readFile(filePath, "utf8").catch(() => ""));
    if (file !== undefined && (await answersHealth(file.url))) return file;
    if (performance.now() > endAt) throw new Error(`it does not answer within ${startTimeoutMs} ms`);
    await pause(LOOK_AGAIN_MS, signal);
  }
  throw failure ?? new Error(`it ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`);
}

async function killAll(platform: LocalPlatform): Promise<void> {
  const connection = { ...platform, platform: "cloud" } as const;
  for await (const { sandboxId } of Sandbox.list(connection)) await Sandbox.kill(sandboxId, connection);
}

async function endChild(child: ChildProcess): Promise<void> {
  if (!isAlive(child)) return;
  const exited = once(child, "exit");
  child.ref();
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(timer);
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null && child.pid !== undefined;
}
