import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Directories of a platform in which a sandbox may leave something. */
export interface TracedDirs {
  readonly sandboxesDir: string;
  readonly socketsDir: string;
  readonly runDir: string;
}

/** Everything on the host that belongs to the sandbox, one sentence each: directories, sockets, runtime state, cgroups, processes, mounts. */
export function findHostTraces({ sandboxesDir, socketsDir, runDir }: TracedDirs, id: string): string[] {
  const state = join(runDir, "runtime-state");
  return [
    ...names(sandboxesDir)
      .filter((name) => name.includes(id))
      .map((name) => `directory ${name}`),
    ...names(socketsDir)
      .filter((name) => name.includes(id))
      .map((name) => `socket ${name}`),
    ...names(state).flatMap((runtime) =>
      names(join(state, runtime))
        .filter((name) => name === id)
        .map((name) => `state of ${runtime}: ${name}`),
    ),
    ...cgroupsOf(id).map((path) => `cgroup ${path}`),
    ...processesOf(id).map((pid) => `process ${pid}`),
    ...text("/proc/self/mountinfo")
      .split("\n")
      .filter((line) => line.includes(id))
      .map((line) => `mount ${line}`),
  ];
}

/** Host pids of every process in the sandbox's cgroups. */
export function processesOf(id: string): number[] {
  return names("/proc")
    .filter((name) => /^\d+$/.test(name) && text(`/proc/${name}/cgroup`).includes(`/${id}\n`))
    .map(Number);
}

/** Host pid of the daemon of a sandbox. */
export function daemonPidOf(id: string): number {
  const pid = processesOf(id).find((candidate) => text(`/proc/${candidate}/cmdline`).startsWith("/opt/agent-sandbox/node\0"));
  if (pid === undefined) throw new Error(`sandbox ${id} has no daemon`);
  return pid;
}

function cgroupsOf(id: string): string[] {
  const roots = ["/sys/fs/cgroup", ...names("/sys/fs/cgroup").map((name) => join("/sys/fs/cgroup", name))];
  return roots
    .flatMap((root) => names(join(root, "agent-sandbox")).map((scope) => join(root, "agent-sandbox", scope)))
    .flatMap((scope) =>
      names(scope)
        .filter((name) => name === id)
        .map((name) => join(scope, name)),
    );
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
