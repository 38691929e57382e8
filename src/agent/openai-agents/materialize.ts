import {
  type Entry,
  type Manifest,
  permissionsForSandboxEntry,
  SandboxArtifactError,
  SandboxPathResolutionError,
} from "@openai/agents-core/sandbox";
import { openLocalDir, readLocalFile } from "#local-sources";
import type { FileWriteEntry } from "../../sandbox/files.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { quoteShellWord } from "../../shared/shell-quote.js";
import { INSIDE } from "./file-scripts.js";
import { cloneGitRepo } from "./git-entry.js";
import type { LocalSourceOptions } from "./local-sources-types.js";
import { runLinesAsRoot } from "./root-script.js";

/** How entries are made. */
export interface MaterializeOptions {
  /** Owner of what is made. @defaultValue the user of commands */
  readonly runAs: string | undefined;
  /** @see AgentSandboxClientSettings.localSourceDir */
  readonly localSourceDir: string | undefined;
}

interface PlacedEntry {
  readonly path: string;
  readonly entry: Entry;
}

/**
 * Check that no link leads an entry out of the workspace: entries are made as root, and whoever used the sandbox may have made links.
 *
 * @throws `SandboxPathResolutionError` one does.
 */
export async function assertEntriesInside(sandbox: Sandbox, manifest: Manifest): Promise<void> {
  const root = quoteShellWord(manifest.root);
  const lines = [...manifest.iterEntries()].map(({ absolutePath }) => {
    const path = quoteShellWord(absolutePath);
    return `inside ${path} ${root} || { printf '%s leads out of the workspace' ${path} >&2; exit 1; }`;
  });
  const failure = await runLinesAsRoot(sandbox, lines, INSIDE);
  if (failure !== undefined) throw new SandboxPathResolutionError(`an entry cannot be made: ${failure}`);
}

/** Make the entries of a manifest, whose directory exists. When one fails, those before it stay. */
export async function materializeEntries(sandbox: Sandbox, manifest: Manifest, options: MaterializeOptions): Promise<void> {
  const user = options.runAs;
  const sources = { baseDir: options.localSourceDir, grantedDirs: manifest.extraPathGrants.map(({ path }) => path) };
  const entries: PlacedEntry[] = [...manifest.iterEntries()].map(({ absolutePath, entry }) => ({ path: absolutePath, entry }));
  const files: FileWriteEntry[] = [];
  for (const { path, entry } of entries) {
    if (entry.type === "dir") await sandbox.files.makeDir(path, { user });
    else if (entry.type === "file") files.push({ path, data: entry.content });
    else await materializeSource(sandbox, path, entry, files, sources, user);
  }
  await sandbox.files.writeFiles(files, { user });
  // What is below comes first, because a directory may not let anybody in afterwards.
  const failure = await runLinesAsRoot(
    sandbox,
    entries.reverse().flatMap((placed) => ownershipLines(placed, manifest.root, user)),
  );
  if (failure !== undefined) throw new SandboxArtifactError(`the permissions of the entries cannot be set: ${failure}`);
}

async function materializeSource(
  sandbox: Sandbox,
  path: string,
  entry: Entry,
  files: FileWriteEntry[],
  sources: LocalSourceOptions,
  user: string | undefined,
): Promise<void> {
  switch (entry.type) {
    case "local_file":
      files.push({ path, data: await readLocalFile(entry.src, sources) });
      return;
    case "local_dir":
      await sandbox.files.writeArchive(path, await openLocalDir(entry.src, sources), { user });
      return;
    case "git_repo":
      await cloneGitRepo(sandbox, entry, path);
      return;
    default:
      throw new SandboxArtifactError(`the entry ${path} is of the kind ${entry.type}, which is not known here`, { path, type: entry.type });
  }
}

function ownershipLines({ path, entry }: PlacedEntry, root: string, user: string | undefined): string[] {
  const word = quoteShellWord(path);
  const owner = user === undefined ? `--reference=${quoteShellWord(root)}` : quoteShellWord(`${user}:`);
  const mode = (permissionsForSandboxEntry(entry.permissions).toMode() & 0o1777).toString(8).padStart(4, "0");
  return [
    // Root cloned it.
    ...(entry.type === "git_repo" ? [`chown -R ${owner} -- ${word}`] : []),
    `chmod ${mode} -- ${word}`,
    ...(entry.group === undefined ? [] : [`chgrp -- ${quoteShellWord(entry.group.name)} ${word}`]),
  ];
}
