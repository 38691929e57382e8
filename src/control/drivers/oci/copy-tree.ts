import { spawn } from "node:child_process";
import { InternalError, NotEnoughSpaceError } from "../../../errors/error-classes.js";

/**
 * Copy a tree with owners, links, holes, extended attributes and whiteouts. On a file system with reflinks (XFS, btrfs) this shares the
 * contents and costs nothing per byte; elsewhere the kernel copies them.
 *
 * @throws {@link NotEnoughSpaceError} the disk is full; {@link InternalError} anything else. Nothing is left of the copy.
 */
export async function copyTree(from: string, to: string): Promise<void> {
  const { code, complaint } = await run("cp", ["-a", "--reflink=auto", "--one-file-system", "--", from, to]);
  if (code === 0) return;
  await run("rm", ["-rf", "--one-file-system", "--", to]);
  if (/No space left|Disk quota/i.test(complaint))
    throw new NotEnoughSpaceError("the disk of the platform has no room for a copy of the sandbox's files");
  throw new InternalError(`cannot copy the files of the sandbox: ${complaint.trim()}`);
}

async function run(command: string, args: readonly string[]): Promise<{ readonly code: number | null; readonly complaint: string }> {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, LC_ALL: "C" } });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    if (complaint.length < 1_000) complaint += chunk.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { code, complaint };
}
