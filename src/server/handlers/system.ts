import { statfs } from "node:fs/promises";
import { arch, hostname, loadavg, type } from "node:os";
import { readCpuCount, readMemory } from "../../daemon/metrics.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { assertEnvironment } from "../../shared/environment-check.js";
import type { RouteHandlers } from "../built-in-routes.js";
import { optionalTexts } from "../fields.js";
import { readListeningPorts } from "../listening-ports.js";
import { OWN_VARIABLES, type Programs } from "../programs.js";
import { RouteFailure } from "../route-failure.js";
import type { ServerServices } from "../services.js";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const PYTHON_TIMEOUT_MS = 10_000;
/** Parts of names whose values are never shown. */
const SECRET = /TOKEN|SECRET|KEY|PASSWORD|CREDENTIAL/i;
const PROTECTED = /^(PATH|HOME|USER|SHELL|LD_.*|GLIBC_TUNABLES|BASH_ENV|ENV|NODE_OPTIONS)$/;
/** Names that machines have in `uname -m`. */
const MACHINE_OF_ARCH: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64", ia32: "i686" };

type SystemRoutes = "getSystemInfo" | "getEnv" | "setEnv" | "listPorts" | "getSystemMetrics";

/** The machine and the variables of the server. */
export function createSystemHandlers({ programs }: ServerServices): Pick<RouteHandlers, SystemRoutes> {
  return {
    getSystemInfo: async ({ signal }) => {
      const [cpuCount, memory, disk, pythonVersion] = await Promise.all([
        readCpuCount(),
        readMemory(),
        readDisk(),
        readPythonVersion(programs, signal),
      ]);
      return {
        os: type(),
        arch: MACHINE_OF_ARCH[arch()] ?? arch(),
        cpu_count: Math.max(1, Math.ceil(cpuCount)),
        memory_total_mb: Math.floor(memory.total / MIB),
        memory_available_mb: Math.floor((memory.total - memory.used) / MIB),
        disk_total_gb: toTenths(disk.total / GIB),
        disk_free_gb: toTenths(disk.free / GIB),
        python_version: pythonVersion,
        node_version: process.versions.node,
        hostname: hostname(),
      };
    },
    getSystemMetrics: async () => {
      const [memory, disk] = await Promise.all([readMemory(), readDisk()]);
      const [load1m = 0, load5m = 0, load15m = 0] = loadavg();
      return {
        cpu_load_1m: load1m,
        cpu_load_5m: load5m,
        cpu_load_15m: load15m,
        memory_used_mb: Math.floor(memory.used / MIB),
        memory_total_mb: Math.floor(memory.total / MIB),
        memory_percent: toTenths((100 * memory.used) / memory.total),
        disk_used_gb: toTenths((disk.total - disk.free) / GIB),
        disk_total_gb: toTenths(disk.total / GIB),
        disk_percent: toTenths((100 * (disk.total - disk.free)) / disk.total),
        uptime_seconds: toTenths(process.uptime()),
      };
    },
    getEnv: ({ query }) => {
      const wanted = query
        .get("filter")
        ?.split(",")
        .map((name) => name.trim());
      const shown = Object.entries(process.env).filter(
        (entry): entry is [string, string] => !SECRET.test(entry[0]) && (wanted === undefined || wanted.includes(entry[0])),
      );
      return { variables: Object.fromEntries(shown) };
    },
    setEnv: ({ body }) => {
      const vars = optionalTexts(body, "vars");
      if (vars === undefined) throw new InvalidArgumentError("'vars' is required and must be an object of texts");
      const entries = Object.entries(vars);
      assertEnvironment(entries);
      const refused = entries.map(([name]) => name).find((name) => PROTECTED.test(name) || OWN_VARIABLES.test(name));
      if (refused !== undefined)
        throw new RouteFailure(403, "PermissionError", `the variable '${refused}' cannot be set`, "permission_denied");
      for (const [name, value] of entries) process.env[name] = value;
      return { updated: entries.map(([name]) => name).sort() };
    },
    listPorts: async () => ({
      listening: (await readListeningPorts()).map(({ port, address }) => ({ port, protocol: "tcp", address, pid: null })),
    }),
  };
}

async function readDisk(): Promise<{ readonly total: number; readonly free: number }> {
  const { blocks, bavail, bsize } = await statfs("/");
  return { total: blocks * bsize, free: bavail * bsize };
}

async function readPythonVersion(programs: Programs, signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await programs.run({ words: ["python3", "--version"], timeoutMs: PYTHON_TIMEOUT_MS }, signal);
    return /^Python (\S+)/.exec(stdout)?.[1] ?? "";
  } catch {
    return "";
  }
}

function toTenths(value: number): number {
  return Math.round(value * 10) / 10;
}
