/** Where the local platform of one user keeps its files; the table is in docs/architecture.md, "Files on the host". */
export interface PlatformDirs {
  /** Templates, sandboxes and the database; survives a reboot. */
  readonly dataDir: string;
  /** Sockets, locks and the private runtime file; empty after a reboot. */
  readonly runDir: string;
}

/** Names of the files in {@link PlatformDirs.runDir} that both the platform and its clients touch. */
export const PLATFORM_FILE_NAME = "platform.json";
export const PLATFORM_LOCK_NAME = "platform.lock";
export const PLATFORM_LOG_NAME = "platform.log";

/** What `platform.json` holds. Mode 0600: the key in it is the only credential of the platform. */
export interface PlatformFile {
  readonly version: string;
  readonly pid: number;
  readonly port: number;
  /** `http://127.0.0.1:<port>`; the API and the edge share the port. */
  readonly url: string;
  readonly apiKey: string;
  /** ISO 8601. */
  readonly startedAt: string;
}

/** What the rule depends on. `uid` is `undefined` where the system has no user ids. */
export interface PlatformUser {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly uid: number | undefined;
  readonly homeDir: string;
}

/** Directories of the platform of one user, not yet made absolute; an empty variable counts as absent. */
export function platformDirs({ env, uid, homeDir }: PlatformUser): PlatformDirs {
  const isRoot = uid === 0;
  const userData = `${env.XDG_DATA_HOME || `${homeDir}/.local/share`}/agent-sandbox`;
  const dataDir = env.AGENT_SANDBOX_DATA_DIR || (isRoot ? "/var/lib/agent-sandbox" : userData);
  const userRun = env.XDG_RUNTIME_DIR ? `${env.XDG_RUNTIME_DIR}/agent-sandbox` : `${dataDir}/run`;
  return { dataDir, runDir: env.AGENT_SANDBOX_RUN_DIR || (isRoot ? "/run/agent-sandbox" : userRun) };
}

/** The content of `platform.json`, or `undefined` when it is not one (a half-written or foreign file). */
export function parsePlatformFile(text: string): PlatformFile | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isPlatformFile(value) ? value : undefined;
}

function isPlatformFile(value: unknown): value is PlatformFile {
  if (typeof value !== "object" || value === null) return false;
  const { version, pid, port, url, apiKey, startedAt } = value as Partial<Record<keyof PlatformFile, unknown>>;
  return (
    Number.isInteger(pid) &&
    Number.isInteger(port) &&
    [version, url, apiKey, startedAt].every((field) => typeof field === "string" && field !== "")
  );
}
