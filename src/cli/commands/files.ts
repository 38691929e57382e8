import { type EntryInfo, Sandbox } from "../../index.js";
import { EXIT, type ExitCode } from "../exit-code.js";
import { formatBytes } from "../format-bytes.js";
import type { Notices } from "../notices.js";
import { writeJson, writeOut, writeTable } from "../output.js";

export interface FilesCommandOptions {
  readonly user?: string;
  readonly json?: boolean;
}

/** `abx files list`: in order of the names; with `--quiet` the bare paths. */
export async function runFilesList(
  sandboxId: string,
  path: string,
  options: FilesCommandOptions & { readonly depth: number },
  { isQuiet }: Pick<Notices, "isQuiet">,
): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const entries = await sandbox.files.list(path, { depth: options.depth, user: options.user });
  if (options.json) await writeJson(entries.map(toEntryJson));
  else if (isQuiet) await writeOut(entries.map((entry) => `${entry.path}\n`).join(""));
  else {
    const rows = entries.map((entry) => [
      entry.permissions,
      entry.owner,
      entry.group,
      entry.type === "dir" ? "-" : formatBytes(entry.size),
      entry.modifiedTime?.toISOString() ?? "-",
      `${options.depth === 1 ? entry.name : entry.path}${toSuffix(entry)}`,
    ]);
    await writeTable(["MODE", "OWNER", "GROUP", "SIZE", "CHANGED", "NAME"], rows);
  }
  return EXIT.ok;
}

/** `abx files stat`. */
export async function runFilesStat(sandboxId: string, path: string, options: FilesCommandOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const entry = toEntryJson(await sandbox.files.getInfo(path, { user: options.user }));
  if (options.json) await writeJson(entry);
  else {
    const rows = Object.entries(entry).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]);
    await writeTable(["FIELD", "VALUE"], rows);
  }
  return EXIT.ok;
}

/** `abx files mkdir`. */
export async function runFilesMkdir(sandboxId: string, path: string, options: FilesCommandOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const made = await sandbox.files.makeDir(path, { user: options.user });
  if (options.json) await writeJson({ path, made });
  return EXIT.ok;
}

/** `abx files mv`. */
export async function runFilesMove(sandboxId: string, path: string, newPath: string, options: FilesCommandOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  const entry = await sandbox.files.rename(path, newPath, { user: options.user });
  if (options.json) await writeJson(toEntryJson(entry));
  return EXIT.ok;
}

/** `abx files rm`. */
export async function runFilesRemove(sandboxId: string, paths: readonly string[], options: FilesCommandOptions): Promise<ExitCode> {
  const sandbox = await Sandbox.connect(sandboxId);
  for (const path of paths) await sandbox.files.remove(path, { user: options.user });
  if (options.json) await writeJson({ removed: paths });
  return EXIT.ok;
}

function toSuffix(entry: EntryInfo): string {
  if (entry.symlinkTarget !== undefined) return ` -> ${entry.symlinkTarget}`;
  return entry.type === "dir" ? "/" : "";
}

function toEntryJson(entry: EntryInfo): Record<string, unknown> {
  return {
    path: entry.path,
    name: entry.name,
    type: entry.type ?? null,
    sizeBytes: entry.size,
    mode: `0${(entry.mode & 0o7777).toString(8)}`,
    permissions: entry.permissions,
    owner: entry.owner,
    group: entry.group,
    modifiedAt: entry.modifiedTime?.toISOString() ?? null,
    ...(entry.symlinkTarget !== undefined && { symlinkTarget: entry.symlinkTarget }),
    ...(entry.metadata !== undefined && { metadata: entry.metadata }),
  };
}
