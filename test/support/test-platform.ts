import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { PLATFORM_FILE_NAME, type PlatformFile, parsePlatformFile, platformDirs } from "../../src/shared/platform-dirs.js";
import { findLeftovers } from "./leftovers.js";
import type { PlatformContext } from "./platform-context.js";
import { followLog, type PlatformLog } from "./platform-log.js";

const ABX = fileURLToPath(new URL("../../dist/cli/abx.js", import.meta.url));
const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;

export interface StartedPlatform {
  readonly context: PlatformContext;
  /** Stop it by pid; rejects when a process, mount, cgroup or directory of it is left. */
  readonly stop: () => Promise<void>;
  readonly log: PlatformLog;
}

/** A platform built from `dist`, with run and data directories of its own; templates are the machine's. */
export async function startTestPlatform(env: Readonly<Record<string, string>> = {}): Promise<StartedPlatform> {
  const templatesDir = machineTemplatesDir();
  if (!existsSync(ABX)) return unavailable("dist/cli/abx.js does not exist; run `npm run build`");
  if (!existsSync(templatesDir)) return unavailable(`${templatesDir} does not exist; run \`abx setup\``);

  // 0711: the kernel enters these directories with the ids of the sandbox.
  const rootDir = await mkdtemp(path.join(tmpdir(), "abx-test-"));
  await chmod(rootDir, 0o711);
  const dataDir = path.join(rootDir, "data");
  const runDir = path.join(rootDir, "run");
  await mkdir(dataDir, { mode: 0o711 });
  await mkdir(runDir, { mode: 0o700 });
  await symlink(templatesDir, path.join(dataDir, "templates"));

  const child = spawn(process.execPath, [ABX, "serve"], {
    env: { ...process.env, ...env, AGENT_SANDBOX_DATA_DIR: dataDir, AGENT_SANDBOX_RUN_DIR: runDir },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const log = followLog(child.stderr);
  const stderr = log.tail;
  try {
    const file = await untilReady(child, path.join(runDir, PLATFORM_FILE_NAME), stderr);
    return {
      context: { isAvailable: true, apiUrl: file.url, sandboxUrl: file.url, apiKey: file.apiKey, pid: file.pid },
      stop: () => stopPlatform(child, file, rootDir, stderr),
      log,
    };
  } catch (error) {
    await endChild(child);
    await rm(rootDir, { recursive: true, force: true });
    return unavailable((error as Error).message);
  }
}

/** Where `abx setup` puts the templates of this machine. */
export function machineTemplatesDir(): string {
  return path.join(platformDirs({ env: process.env, uid: process.getuid?.(), homeDir: homedir() }).dataDir, "templates");
}

function unavailable(reason: string): StartedPlatform {
  return { context: { isAvailable: false, reason }, stop: async () => undefined, log: followLog(null) };
}

async function untilReady(child: ChildProcess, filePath: string, stderr: () => string): Promise<PlatformFile> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline && child.exitCode === null && child.signalCode === null) {
    const file = parsePlatformFile(await readFile(filePath, "utf8").catch(() => ""));
    if (file !== undefined && (await answersHealth(file.url))) return file;
    await sleep(25);
  }
  throw new Error(`the platform did not start: ${stderr().trim() || `exit code ${child.exitCode}, signal ${child.signalCode}`}`);
}

async function answersHealth(url: string): Promise<boolean> {
  return fetch(new URL("/health", url)).then(
    (response) => response.ok,
    () => false,
  );
}

async function stopPlatform(child: ChildProcess, file: PlatformFile, rootDir: string, stderr: () => string): Promise<void> {
  const diedEarly = child.exitCode !== null || child.signalCode !== null;
  if (!diedEarly) await killSandboxes(file);
  await endChild(child);
  const leftovers = await findLeftovers(rootDir);
  await rm(rootDir, { recursive: true, force: true });
  if (diedEarly) throw new Error(`the platform died during the run (${child.exitCode ?? child.signalCode}):\n${stderr()}`);
  if (leftovers.length > 0) throw new Error(`the stopped platform left:\n${leftovers.join("\n")}\n${stderr()}`);
}

/** Sandboxes survive their platform, so those that tests left are ended first. */
async function killSandboxes({ url, apiKey }: PlatformFile): Promise<void> {
  const headers = { "X-API-KEY": apiKey };
  for (;;) {
    const response = await fetch(new URL("/v2/sandboxes?limit=100", url), { headers });
    const listed = (await response.json()) as { readonly sandboxID: string }[];
    if (listed.length === 0) return;
    await Promise.all(listed.map(({ sandboxID }) => fetch(new URL(`/sandboxes/${sandboxID}`, url), { method: "DELETE", headers })));
  }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  const killTimer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(killTimer);
}
