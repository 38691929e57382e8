import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, realpath, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { FileNotFoundError, type Sandbox, SandboxError } from "../index.js";
import { downloadDir, type OutsideLinks, uploadDir } from "../node/index.js";
import { quoteShellCommand } from "../shared/shell-quote.js";
import { lastName, meansContent } from "./copy-place.js";
import { countBytes } from "./count-bytes.js";
import type { ProgressState } from "./progress.js";

export interface CopyOptions {
  readonly user?: string | undefined;
  readonly ignore?: readonly string[] | undefined;
  readonly outsideLinks: OutsideLinks;
  readonly signal: AbortSignal;
  readonly onProgress: (state: ProgressState) => void;
}

/** What was copied. */
export interface Copied {
  /** Where it is now. */
  readonly path: string;
  readonly entryCount: number;
  readonly bytes: number;
}

/** Mode of a file that the daemon makes. */
const DEFAULT_MODE = 0o644;

/** Copy a local file or directory into a sandbox. */
export async function copyUp(sandbox: Sandbox, from: string, to: string, options: CopyOptions): Promise<Copied> {
  const { user, ignore, signal, onProgress } = options;
  const source = await stat(from).catch((cause: unknown) => {
    throw new FileNotFoundError(`the local path '${from}' cannot be read`, { cause });
  });
  const target =
    meansContent(from) || !(to.endsWith("/") || (await isRemoteDirectory(sandbox, to, user)))
      ? to
      : joinPath(to, lastName(path.resolve(from)));
  if (source.isDirectory()) return { path: target, ...(await uploadDir(sandbox, from, target, { user, ignore, signal, onProgress })) };
  let sent = 0;
  const content = countBytes(createReadStream(from), (bytes) => {
    sent = bytes;
    onProgress({ bytes, totalBytes: source.size });
  });
  const written = await sandbox.files.write(target, content, { user, signal });
  const mode = source.mode & 0o777;
  if (mode !== DEFAULT_MODE) await sandbox.commands.run(quoteShellCommand(["chmod", mode.toString(8), "--", written.path]), { user });
  return { path: written.path, entryCount: 1, bytes: sent };
}

/** Copy a file or directory of a sandbox to this machine. A file appears at once, when it is complete; a device or a pipe gets the bytes as they come. */
export async function copyDown(sandbox: Sandbox, from: string, to: string, options: CopyOptions): Promise<Copied> {
  const { user, ignore, outsideLinks, signal, onProgress } = options;
  const source = await sandbox.files.getInfo(from, { user, signal });
  const intoDirectory = !meansContent(from) && (to.endsWith("/") || (await isLocalDirectory(to)));
  const target = intoDirectory ? path.join(to, lastName(from)) : to;
  if (source.type === "dir") {
    return { path: target, ...(await downloadDir(sandbox, from, target, { user, ignore, outsideLinks, signal, onProgress })) };
  }
  await mkdir(path.dirname(target), { recursive: true });
  let received = 0;
  const content = countBytes(await sandbox.files.read(from, { format: "stream", user, signal }), (bytes) => {
    received = bytes;
    onProgress({ bytes, totalBytes: source.size });
  });
  // What a link leads to gets the content, as with cp(1).
  const place = await realpath(target).catch(() => target);
  if (await isSpecialFile(place)) await pipeline(Readable.from(content), createWriteStream(place), { signal });
  else await replaceLocalFile(place, content, source.mode & 0o777);
  return { path: target, entryCount: 1, bytes: received };
}

async function replaceLocalFile(place: string, content: AsyncIterable<Uint8Array>, mode: number): Promise<void> {
  const part = path.join(path.dirname(place), `.agent-sandbox-download-${randomUUID()}`);
  try {
    await pipeline(Readable.from(content), createWriteStream(part, { mode }));
    await rename(part, place);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

/** A device, a pipe or a socket, whose place no file may take. */
async function isSpecialFile(localPath: string): Promise<boolean> {
  return stat(localPath).then(
    (stats) => !stats.isFile() && !stats.isDirectory(),
    () => false,
  );
}

async function isRemoteDirectory(sandbox: Sandbox, remotePath: string, user: string | undefined): Promise<boolean> {
  try {
    return (await sandbox.files.getInfo(remotePath, { user })).type === "dir";
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "file_not_found") return false;
    throw error;
  }
}

async function isLocalDirectory(localPath: string): Promise<boolean> {
  return stat(localPath).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
}

function joinPath(directory: string, name: string): string {
  return `${directory.replace(/\/+$/, "")}/${name}`;
}
