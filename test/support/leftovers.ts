import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import path from "node:path";

/** What a stopped platform left on the host, one sentence each; `rootDir` holds its data and run directories. */
export async function findLeftovers(rootDir: string): Promise<string[]> {
  const ids = await namesIn(path.join(rootDir, "data", "sandboxes"));
  const found = [
    ...ids.map((id) => `directory data/sandboxes/${id}`),
    ...(await namesIn(path.join(rootDir, "run", "sockets"))).map((name) => `socket run/sockets/${name}`),
    ...(existsSync(path.join(rootDir, "run", "platform.json")) ? ["file run/platform.json"] : []),
  ];
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  found.push(
    ...mounts
      .split("\n")
      .filter((line) => line.includes(rootDir))
      .map((line) => `mount ${line}`),
  );
  for (const pid of (await namesIn("/proc")).filter((name) => /^\d+$/.test(name))) {
    if (Number(pid) !== process.pid && (await belongsTo(pid, rootDir))) {
      found.push(`process ${pid} ${(await procText(pid, "cmdline")).replaceAll("\0", " ").slice(0, 200)}`);
    }
  }
  found.push(...(await sandboxCgroups(rootDir)));
  return found;
}

/** Cgroups of sandboxes. Each platform has a parent for them, named after its state directory. */
async function sandboxCgroups(rootDir: string): Promise<string[]> {
  const stateDir = await realpath(path.join(rootDir, "run", "runtime-state")).catch(() => undefined);
  if (stateDir === undefined) return [];
  const parent = path.join("agent-sandbox", createHash("sha256").update(stateDir).digest("hex").slice(0, 12));
  const found: string[] = [];
  for (const hierarchy of ["", ...(await namesIn("/sys/fs/cgroup"))]) {
    const directory = path.join("/sys/fs/cgroup", hierarchy, parent);
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
    found.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => `cgroup ${path.join(directory, name)}`));
  }
  return found;
}

/** True for a process of the platform (its environment names the directory) or of one of its sandboxes (its root mount does). */
async function belongsTo(pid: string, rootDir: string): Promise<boolean> {
  const texts = await Promise.all([procText(pid, "environ"), procText(pid, "mountinfo"), readlink(`/proc/${pid}/cwd`).catch(() => "")]);
  return texts.some((text) => text.includes(rootDir));
}

async function procText(pid: string, name: string): Promise<string> {
  return readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "");
}

async function namesIn(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}
