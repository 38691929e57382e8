import { chmodSync, lstatSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { FailedPreconditionError } from "../errors/error-classes.js";
import { PLATFORM_FILE_NAME, PLATFORM_LOCK_NAME, PLATFORM_LOG_NAME, type PlatformUser, platformDirs } from "../shared/platform-dirs.js";

/** Every file and directory that the local platform has on the host. */
export interface PlatformPaths {
  /** Survives a reboot: templates, sandbox layers, the database, the API key. */
  readonly dataDir: string;
  /** Empty after a reboot: what only concerns the running platform. */
  readonly runDir: string;
  /** `<templateId>/<buildId>/` with `rootfs/` and `template.json`. */
  readonly templatesDir: string;
  /** `<snapshotId>/` with `template.json` and what a sandbox had written. */
  readonly snapshotsDir: string;
  /** `<sandboxId>/` with the writable layer and the OCI bundle. */
  readonly sandboxesDir: string;
  /** `<volumeId>/` with what guests keep there. */
  readonly volumesDir: string;
  /** `<hash>/` with what is mounted at `/opt/agent-sandbox` in every sandbox. */
  readonly runtimeDir: string;
  /** Sockets of the daemons; on the host only. */
  readonly socketsDir: string;
  readonly databaseFile: string;
  readonly apiKeyFile: string;
  /** Secret from which keys for stored secrets and certificates follow, mode 0600. */
  readonly secretFile: string;
  /** Address and API key of the running platform, mode 0600. */
  readonly platformFile: string;
  readonly lockFile: string;
  /** Where a platform that was started in the background writes its log. */
  readonly logFile: string;
}

/** Compute the paths without touching the disk; the parts that are not given are this process's own. */
export function resolvePaths(user: Partial<PlatformUser> = {}): PlatformPaths {
  const dirs = platformDirs({ env: process.env, uid: process.getuid?.(), homeDir: homedir(), ...user });
  const dataDir = resolve(dirs.dataDir);
  const runDir = resolve(dirs.runDir);
  return {
    dataDir,
    runDir,
    templatesDir: join(dataDir, "templates"),
    snapshotsDir: join(dataDir, "snapshots"),
    sandboxesDir: join(dataDir, "sandboxes"),
    volumesDir: join(dataDir, "volumes"),
    runtimeDir: join(dataDir, "runtime"),
    socketsDir: join(runDir, "sockets"),
    databaseFile: join(dataDir, "platform.db"),
    apiKeyFile: join(dataDir, "api-key"),
    secretFile: join(dataDir, "secrets.key"),
    platformFile: join(runDir, PLATFORM_FILE_NAME),
    lockFile: join(runDir, PLATFORM_LOCK_NAME),
    logFile: join(runDir, PLATFORM_LOG_NAME),
  };
}

/**
 * Make the directories with their modes.
 *
 * The data directories are 0711: the kernel walks through them with the ids of a sandbox, which own nothing here. The run directory is 0700.
 *
 * @throws {@link FailedPreconditionError} one of the roots belongs to another user.
 */
export function preparePaths(paths: PlatformPaths): void {
  for (const directory of [paths.dataDir, paths.templatesDir, paths.snapshotsDir, paths.sandboxesDir, paths.runtimeDir])
    ensureDirectory(directory, 0o711);
  for (const directory of [paths.runDir, paths.socketsDir]) ensureDirectory(directory, 0o700);
}

function ensureDirectory(directory: string, mode: number): void {
  mkdirSync(directory, { recursive: true, mode });
  const uid = process.getuid?.();
  // A directory in a shared temporary directory may have been made by somebody else first.
  if (uid !== undefined && lstatSync(directory).uid !== uid) {
    throw new FailedPreconditionError(
      `${directory} belongs to another user; remove it, or set AGENT_SANDBOX_DATA_DIR and AGENT_SANDBOX_RUN_DIR`,
    );
  }
  // mkdir subtracts the umask and leaves an existing directory as it is.
  chmodSync(directory, mode);
}
