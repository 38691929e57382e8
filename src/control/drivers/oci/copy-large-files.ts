import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { ContentsCopier } from "./copy-contents.js";

/** Below this a file is not worth a program of its own, and stays in the kernel's cache anyway. */
const LARGE_MIB = 16;
const SECTOR_BYTES = 512;
const SEPARATOR = Buffer.from("/");

/**
 * Copy the contents of large files of a tree ahead of the tree itself; owners, modes and times are still to come. Files with holes or
 * several names are left out, and all of them where the file system shares contents between files.
 *
 * @returns relative paths of what was copied.
 */
export async function copyLargeFiles(from: string, to: string): Promise<string[]> {
  const copied: string[] = [];
  let copier: ContentsCopier | undefined;
  for (const { path, size } of await findLargeFiles(from)) {
    const name = path.toString();
    // Attributes are set by a program, whose arguments are text.
    if (!Buffer.from(name).equals(path)) continue;
    const source = join(from, path);
    const target = join(to, path);
    await mkdir(target.subarray(0, target.lastIndexOf(SEPARATOR)), { recursive: true });
    if (copier === undefined && (await isShared(source, target))) return [];
    copier ??= new ContentsCopier();
    await copier.copy(source, target, size);
    copied.push(name);
  }
  return copied;
}

interface LargeFile {
  /** Below the tree. */
  readonly path: Buffer;
  readonly size: number;
}

async function findLargeFiles(tree: string): Promise<LargeFile[]> {
  const args = [tree, "-xdev", "-type", "f", "-links", "1", "-size", `+${LARGE_MIB}M`, "-printf", "%s %b %P\\0"];
  const child = spawn("find", args, { stdio: ["ignore", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  // What it does not find is copied with the tree.
  await new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const output = Buffer.concat(chunks);
  const files: LargeFile[] = [];
  for (let start = 0, end = output.indexOf(0); end >= 0; start = end + 1, end = output.indexOf(0, start)) {
    const entry = output.subarray(start, end);
    const afterSize = entry.indexOf(" ");
    const afterBlocks = entry.indexOf(" ", afterSize + 1);
    const size = Number(entry.subarray(0, afterSize));
    const hasHoles = Number(entry.subarray(afterSize, afterBlocks)) * SECTOR_BYTES < size;
    if (!hasHoles) files.push({ path: entry.subarray(afterBlocks + 1), size });
  }
  return files;
}

/** True when the file system can give two files the same contents; `to` is not there afterwards. */
async function isShared(from: Buffer, to: Buffer): Promise<boolean> {
  const isShared = await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  );
  await rm(to, { force: true });
  return isShared;
}

function join(directory: string, path: Buffer): Buffer {
  return Buffer.concat([Buffer.from(directory), SEPARATOR, path]);
}
