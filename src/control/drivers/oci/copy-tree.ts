import { InternalError, NotEnoughSpaceError } from "../../../errors/error-classes.js";
import { runTool } from "./run-tool.js";

/**
 * Copy a tree with owners, links, holes, extended attributes and whiteouts. On a file system with reflinks (XFS, btrfs) this shares the
 * contents and costs nothing per byte; elsewhere the kernel copies them.
 *
 * @throws {@link NotEnoughSpaceError} the disk is full; {@link InternalError} anything else. Nothing is left of the copy.
 */
export async function copyTree(from: string, to: string): Promise<void> {
  const { code, complaint } = await runTool("cp", ["-a", "--reflink=auto", "--one-file-system", "--", from, to]);
  if (code === 0) return;
  await runTool("rm", ["-rf", "--one-file-system", "--", to]);
  if (/No space left|Disk quota/i.test(complaint))
    throw new NotEnoughSpaceError("the disk of the platform has no room for a copy of the sandbox's files");
  throw new InternalError(`cannot copy the files of the sandbox: ${complaint.trim()}`);
}
