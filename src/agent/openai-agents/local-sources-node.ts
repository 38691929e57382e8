import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import path from "node:path";
import { SandboxLocalDirReadError, SandboxLocalFileReadError } from "@openai/agents-core/sandbox";
import { createIgnoreRules } from "../../shared/ignore-rules.js";
import { messageOf } from "../../shared/message-of.js";
import { packTar } from "../../shared/tar-pack-node.js";
import type { LocalSourceOptions } from "./local-sources-types.js";

type Failure = new (message: string, details?: Record<string, unknown>) => Error;

/**
 * Read the file of a `local_file` entry.
 *
 * @throws `SandboxLocalFileReadError` it is outside of the directories that may be read, no file, or cannot be read.
 */
export async function readLocalFile(src: string, options: LocalSourceOptions): Promise<Uint8Array> {
  const source = await resolveSource(src, options, SandboxLocalFileReadError);
  try {
    await using file = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw new Error("it is not a file");
    return await file.readFile();
  } catch (error) {
    throw failed(SandboxLocalFileReadError, src, error);
  }
}

/**
 * Open the directory of a `local_dir` entry as a tar archive. Links in it are kept as links and never followed.
 *
 * @throws `SandboxLocalDirReadError` it is outside of the directories that may be read, no directory, or cannot be read.
 */
export async function openLocalDir(src: string, options: LocalSourceOptions): Promise<AsyncIterable<Uint8Array>> {
  const source = await resolveSource(src, options, SandboxLocalDirReadError);
  if (!(await lstat(source)).isDirectory()) throw failed(SandboxLocalDirReadError, src, new Error("it is not a directory"));
  return packTar(source, { rules: createIgnoreRules([]) });
}

/** The real path of a source. A manifest may come from elsewhere, so that no link leads out of what may be read. */
async function resolveSource(src: string, { baseDir, grantedDirs }: LocalSourceOptions, Failure: Failure): Promise<string> {
  const base = path.resolve(baseDir ?? ".");
  try {
    const source = await realpath(path.resolve(base, src));
    for (const dir of [base, ...grantedDirs]) {
      const root = await realpath(dir).catch(() => undefined);
      if (root !== undefined && isInside(root, source)) return source;
    }
  } catch (error) {
    throw failed(Failure, src, error);
  }
  throw failed(
    Failure,
    src,
    new Error(`it is outside of ${base}; give the client the option localSourceDir, or the manifest a path in extraPathGrants`),
  );
}

function isInside(root: string, target: string): boolean {
  const relative = path.relative(root, target);
  return relative !== ".." && !relative.startsWith(`..${path.sep}`) && !path.isAbsolute(relative);
}

function failed(Failure: Failure, src: string, error: unknown): Error {
  return new Failure(`the local source ${src} cannot be read: ${messageOf(error)}`, { src });
}
