import { spawn } from "node:child_process";

/**
 * Bytes on the disk below each directory, counted by one du(1) at the lowest priority. Directories that vanish meanwhile are left out.
 */
export async function measureDiskUsage(directories: readonly string[]): Promise<ReadonlyMap<string, number>> {
  if (directories.length === 0) return new Map();
  const child = spawn("nice", ["du", "-sx", "--block-size=1", "--", ...directories], { stdio: ["ignore", "pipe", "ignore"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  // du(1) fails when a file vanished during the walk; what it printed counts.
  await new Promise<void>((resolve) => {
    child.once("error", () => resolve());
    child.once("close", () => resolve());
  });
  const sizes = new Map<string, number>();
  for (const line of Buffer.concat(chunks).toString().split("\n")) {
    const [size, directory] = line.split("\t");
    if (size !== undefined && directory !== undefined) sizes.set(directory, Number(size));
  }
  return sizes;
}
