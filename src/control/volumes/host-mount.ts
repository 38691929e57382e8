import { realpathSync, statSync } from "node:fs";
import { isAbsolute, sep } from "node:path";
import { InvalidArgumentError, PermissionDeniedError } from "../../errors/error-classes.js";
import type { SandboxMount } from "../sandbox-record.js";

/** A directory of the machine that a caller wants in a sandbox. */
export interface HostMountRequest {
  readonly hostPath: string;
  readonly path: string;
  readonly readOnly: boolean;
}

/** Trees of the system. What is below is no user's own, whoever owns it; `/var/tmp`, `/home`, `/root`, `/srv`, `/mnt` and `/tmp` are left. */
const SYSTEM_TREES: readonly string[] = [
  "/bin",
  "/boot",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/opt/agent-sandbox",
  "/proc",
  "/run",
  "/sbin",
  "/sys",
  "/usr",
  "/var/backups",
  "/var/cache",
  "/var/lib",
  "/var/log",
  "/var/mail",
  "/var/spool",
];
/** Directories that hold other people's, as a whole. */
const COMMON_ROOTS: readonly string[] = ["/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/tmp"];
/** Directories of credentials, below any home. */
const SECRET_NAMES: ReadonlySet<string> = new Set([".ssh", ".gnupg", ".aws", ".kube", ".docker"]);

/**
 * Check a directory of the machine and make it a mount.
 *
 * The path is resolved once, here, and the sandbox gets the result, so a link that changes later changes nothing.
 *
 * @param ownerIds users whose directories may be given: the user of the platform, and who called it through sudo.
 * @param ownDirs directories of the platform.
 * @throws {@link InvalidArgumentError} no such directory; {@link PermissionDeniedError} it is not the caller's own.
 */
export function resolveHostMount(
  { hostPath, path, readOnly }: HostMountRequest,
  ownerIds: readonly number[],
  ownDirs: readonly string[],
): SandboxMount {
  if (!isAbsolute(hostPath) || hostPath.includes("\0")) throw new InvalidArgumentError("mounts.hostPath must be an absolute path");
  const source = realpathOf(hostPath);
  const stat = statSync(source);
  if (!stat.isDirectory()) throw new InvalidArgumentError(`mounts.hostPath "${hostPath}" is not a directory`);
  const refuse = (why: string) => new PermissionDeniedError(`mounts.hostPath "${hostPath}" is refused: ${why}`);
  if (COMMON_ROOTS.includes(source) || SYSTEM_TREES.some((tree) => isWithin(source, tree))) throw refuse("it belongs to the system");
  if (ownDirs.some((own) => isWithin(source, own) || isWithin(own, source))) throw refuse("the platform keeps its files there");
  if (source.split(sep).some((part) => SECRET_NAMES.has(part))) throw refuse("it holds credentials");
  if (!ownerIds.includes(stat.uid)) throw refuse(`it belongs to the user ${stat.uid}, not to the user of the platform`);
  return { source, target: path, readOnly };
}

/** Ids whose directories this platform gives away. */
export function findOwnerIds(env: NodeJS.ProcessEnv = process.env): readonly number[] {
  const own = process.getuid?.();
  const caller = /^\d+$/.test(env.SUDO_UID ?? "") ? [Number(env.SUDO_UID)] : [];
  return own === undefined ? [] : [own, ...caller];
}

function realpathOf(hostPath: string): string {
  try {
    return realpathSync(hostPath);
  } catch {
    throw new InvalidArgumentError(`mounts.hostPath "${hostPath}" does not exist`);
  }
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}
