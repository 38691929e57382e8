import { readdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FailedPreconditionError } from "../errors/error-classes.js";
import type { PlatformPaths } from "./paths.js";
import { readIfExists, writePrivateFile } from "./private-file.js";

const FILE_NAME = "holder.json";

/** The platform that has a data directory, or had it last. */
export interface DataHolder {
  readonly pid: number;
  /** Where the sockets and the runtime state of its sandboxes are, links resolved. */
  readonly runDir: string;
  /** The port that it listened on; `undefined` when it never did. */
  readonly port: number | undefined;
}

interface SandboxRecords {
  all(): readonly { readonly id: string }[];
}

/** A data directory that this process holds. */
export interface DataClaim {
  /** The port of the platform before. */
  readonly port: number | undefined;
  /** Let the next platform know the port. */
  rememberPort(port: number): void;
}

/**
 * Note down that this process has the data directory. Its database must be locked already.
 *
 * Sandboxes run where their run directory is: a platform that looks elsewhere would take them for dead and remove their files.
 *
 * @throws {@link FailedPreconditionError} sandboxes live there that belong to another run directory.
 */
export function claimDataDir(paths: Pick<PlatformPaths, "dataDir" | "runDir" | "sandboxesDir">, records: SandboxRecords): DataClaim {
  const before = readDataHolder(paths.dataDir);
  const runDir = realpathSync(paths.runDir);
  if (before !== undefined && before.runDir !== runDir) assertEmpty(paths, before.runDir, records);
  const write = (port: number | undefined) =>
    writePrivateFile(join(paths.dataDir, FILE_NAME), `${JSON.stringify({ pid: process.pid, runDir, port } satisfies DataHolder)}\n`);
  if (before?.runDir === runDir) ignoreFailure(() => write(before.port));
  else write(before?.port);
  return { port: before?.port, rememberPort: (port) => ignoreFailure(() => write(port)) };
}

/** What the last platform of a data directory wrote about itself, alive or not; `undefined` when none did. */
export function readDataHolder(dataDir: string): DataHolder | undefined {
  const text = readIfExists(join(dataDir, FILE_NAME));
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { pid, runDir, port } = (value ?? {}) as Partial<Record<keyof DataHolder, unknown>>;
  if (!Number.isInteger(pid) || typeof runDir !== "string") return undefined;
  return { pid: pid as number, runDir, port: isPort(port) ? port : undefined };
}

/** The platform that has the database of a data directory open at this moment, where that can be known. */
export function findDataHolder(databaseFile: string): DataHolder | undefined {
  const holder = readDataHolder(dirname(databaseFile));
  return holder !== undefined && hasOpen(holder.pid, databaseFile) ? holder : undefined;
}

/** True when the process has the file open; false also where this user may not know. */
export function hasOpen(pid: number, file: string): boolean {
  try {
    const wanted = statSync(file);
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const found = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false });
      return found !== undefined && found.ino === wanted.ino && found.dev === wanted.dev;
    });
  } catch {
    return false;
  }
}

function assertEmpty(
  { dataDir, runDir, sandboxesDir }: Pick<PlatformPaths, "dataDir" | "runDir" | "sandboxesDir">,
  before: string,
  records: SandboxRecords,
) {
  // Also what has no record yet, or none any more, may be running there. Names with a dot are attempts of `abx doctor`.
  const ids = new Set([...records.all().map(({ id }) => id), ...readdirSync(sandboxesDir).filter((name) => !name.startsWith("."))]);
  if (ids.size === 0) return;
  throw new FailedPreconditionError(
    `the data directory ${dataDir} has ${ids.size} ${ids.size === 1 ? "sandbox" : "sandboxes"} of the run directory ${before}, and this platform would use ${runDir}; ` +
      `set AGENT_SANDBOX_RUN_DIR to ${before}, or AGENT_SANDBOX_DATA_DIR to another directory`,
  );
}

/** A full disk must not keep the platform down, with which sandboxes are killed that fill it; a pid and a port can be missed. */
function ignoreFailure(write: () => void): void {
  try {
    write();
  } catch {
    // The run directory, for which the file is there, is in the older one.
  }
}

function isPort(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) > 0 && (value as number) <= 65_535;
}
