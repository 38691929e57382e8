import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** Permission bits of what is made; an existing directory keeps its own. */
export interface ReplaceFileOptions {
  /** @defaultValue by the umask of the process */
  readonly mode?: number | undefined;
  readonly directoryMode?: number | undefined;
}

/** Give a file another text in one step: who reads it finds the old one or the new one, also when this fails. Missing directories are made. */
export async function replaceFile(file: string, text: string, { mode, directoryMode }: ReplaceFileOptions = {}): Promise<void> {
  await mkdir(path.dirname(path.resolve(file)), { recursive: true, mode: directoryMode });
  const part = `${file}.${randomUUID()}`;
  try {
    await writeFile(part, text, { flag: "wx", mode });
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}
