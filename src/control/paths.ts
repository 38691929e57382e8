import { chmodSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { PLATFORM_FILE_NAME, PLATFORM_LOCK_NAME, PLATFORM_LOG_NAME, platformDirs } from "../shared/platform-dirs.js";

/** Every file and directory that the local platform has on the host. */
export interface PlatformPaths {
  /** Survives a reboot: templates, sandbox layers, the database, the API key. */
  readonly dataDir: string;
  /** Gone after a reboot: what only concerns the running platform. */
  readonly runDir: string;
  /** `<templateId>/<buildId>/` with `rootfs/` and `template.json`. */
  readonly templatesDir: string;
  /** `<sandboxId>/` with the writable layer and the OCI bundle. */
  readonly sandboxesDir: string;
  /** `<hash>/` with what is mounted at `/opt/agent-sandbox` in every sandbox. */
  readonly runtimeDir: string;
  /** Sockets of the daemons; on the host only. */
  readonly socketsDir: string;
  readonly databaseFile: string;
  readonly apiKeyFile: string;
  /** Address and API key of the running platform, mode 0600. */
  readonly platformFile: string;
  readonly lockFile: string;
  /** Where a platform that was started in the background writes its log. */
  readonly logFile: string;
}

/** What {@link resolvePaths} looks at; the process's own by default. */
export interface PathSources {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly uid?: number;
  readonly home?: string;
}

/**
 * Compute the paths without touching the disk.
 *
 * `AGENT_SANDBOX_DATA_DIR` and `AGENT_SANDBOX_RUN_DIR` override the two roots.
 */
export function resolvePaths(sources: PathSources = {}): PlatformPaths {
  const env = sources.env ?? process.env;
  const uid = sources.uid ?? process.getuid?.();
  const home = sources.home ?? homedir();
  const dirs = platformDirs({ env, uid, homeDir: home });
  const dataDir = resolve(dirs.dataDir);
  const runDir = resolve(dirs.runDir);
  return {
    dataDir,
    runDir,
    templatesDir: join(dataDir, "templates"),
    sandboxesDir: join(dataDir, "sandboxes"),
    runtimeDir: join(dataDir, "runtime"),
    socketsDir: join(runDir, "sockets"),
    databaseFile: join(dataDir, "platform.db"),
    apiKeyFile: join(dataDir, "api-key"),
    platformFile: join(runDir, PLATFORM_FILE_NAME),
    lockFile: join(runDir, PLATFORM_LOCK_NAME),
    logFile: join(runDir, PLATFORM_LOG_NAME),
  };
}

/**
 * Make the directories with their modes.
 *
 * The data directories are 0711: the kernel walks through them with the ids of a sandbox, which own nothing here. The run directory is 0700.
 */
export function preparePaths(paths: PlatformPaths): void {
  for (const directory of [paths.dataDir, paths.templatesDir, paths.sandboxesDir, paths.runtimeDir]) ensureDirectory(directory, 0o711);
  for (const directory of [paths.runDir, paths.socketsDir]) ensureDirectory(directory, 0o700);
}

function ensureDirectory(directory: string, mode: number): void {
  mkdirSync(directory, { recursive: true, mode: 0o711 });
  // mkdir subtracts the umask and leaves an existing directory as it is.
  chmodSync(directory, mode);
}
