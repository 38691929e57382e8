import {
  type Manifest,
  resolveSandboxArchiveLimits,
  SandboxArchiveError,
  type SandboxArchiveLimits,
  SandboxUnsupportedFeatureError,
  SandboxWorkspaceArchiveWriteError,
  type WorkspaceArchiveData,
} from "@openai/agents-core/sandbox";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { fromReadableStream } from "../../shared/byte-stream.js";
import { concatBytes } from "../../shared/concat-bytes.js";
import { messageOf } from "../../shared/message-of.js";
import { readTar } from "../../shared/tar-reader.js";
import { runAsRoot } from "./root-script.js";

/** Everything in a workspace but what is ephemeral, as a tar archive. @throws `SandboxUnsupportedFeatureError` the workspace is the whole system */
export async function archiveWorkspace(sandbox: Sandbox, manifest: Manifest): Promise<Uint8Array> {
  if (manifest.root === "/") {
    throw new SandboxUnsupportedFeatureError(
      'a workspace at / has no archive: give the manifest another root, or use workspacePersistence: "snapshot"',
      { feature: "persistWorkspace", root: manifest.root },
    );
  }
  const ignore = [...manifest.ephemeralPersistencePaths()].filter((path) => path !== "").map(toIgnorePattern);
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of fromReadableStream(await sandbox.files.readArchive(manifest.root, { ignore }))) {
    chunks.push(chunk);
    sizeBytes += chunk.length;
  }
  return concatBytes(chunks, sizeBytes);
}

/**
 * Replace what is in a workspace by what is in an archive; what is made belongs to the user of commands.
 *
 * @throws `SandboxArchiveError` the data is no archive or above a limit, and nothing was touched.
 */
export async function restoreWorkspace(
  sandbox: Sandbox,
  root: string,
  bytes: Uint8Array,
  limits: SandboxArchiveLimits | null | undefined,
): Promise<void> {
  await checkArchive(bytes, limits);
  // What belongs to the system cannot be replaced, so there the files are added.
  if (root !== "/") {
    const { exitCode, stderr } = await runAsRoot(sandbox, 'find "$1" -mindepth 1 -delete', [root]);
    if (exitCode !== 0) throw new SandboxWorkspaceArchiveWriteError(`the workspace cannot be emptied: ${stderr.trim()}`, { root });
  }
  await sandbox.files.writeArchive(root, bytes);
}

export function toBytes(data: WorkspaceArchiveData): Uint8Array {
  return typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data);
}

async function checkArchive(bytes: Uint8Array, limits: SandboxArchiveLimits | null | undefined): Promise<void> {
  const { maxInputBytes, maxExtractedBytes, maxMembers } = resolveSandboxArchiveLimits(limits) ?? {};
  assertWithin("maxInputBytes", bytes.length, maxInputBytes);
  let members = 0;
  let extractedBytes = 0;
  try {
    for await (const { entry } of readTar(only(bytes))) {
      members += 1;
      extractedBytes += entry.sizeBytes;
      assertWithin("maxMembers", members, maxMembers);
      assertWithin("maxExtractedBytes", extractedBytes, maxExtractedBytes);
    }
  } catch (error) {
    if (error instanceof SandboxArchiveError) throw error;
    throw new SandboxArchiveError(`the archive of the workspace cannot be read: ${messageOf(error)}`);
  }
}

function assertWithin(name: keyof SandboxArchiveLimits, value: number, limit: number | null | undefined): void {
  if (limit == null || value <= limit) return;
  throw new SandboxArchiveError(`the archive of the workspace is above archiveLimits.${name} (${limit})`, { [name]: limit });
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** A pattern of `.gitignore` for exactly this path. */
function toIgnorePattern(path: string): string {
  return `/${path.replaceAll(/[\\*?[\] ]/g, "\\$&")}`;
}
