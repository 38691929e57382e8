import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

/** Write a file that only its user may read, all or nothing: readers see the old content or the new one. */
export function writePrivateFile(file: string, content: string): void {
  const staged = `${file}.${process.pid}.new`;
  rmSync(staged, { force: true });
  writeFileSync(staged, content, { mode: 0o600, flag: "wx", flush: true });
  renameSync(staged, file);
}

/** Content of a file, or `undefined` when there is none. */
export function readIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
