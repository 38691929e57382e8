import { statfsSync } from "node:fs";
import { release } from "node:os";
import { dirname, join } from "node:path";
import { messageOf } from "../../shared/message-of.js";
import type { IsolationReport } from "../drivers/driver.js";
import { readCgroupLayout } from "../drivers/oci/cgroups.js";
import { HelperProcess } from "../drivers/oci/helper-process.js";
import type { EngineInfo } from "../drivers/oci/helper-protocol.js";
import { findIdRange } from "../drivers/oci/id-range.js";
import { toIsolationReport } from "../drivers/oci/oci-driver.js";
import { findPackageFiles } from "../drivers/oci/package-files.js";
import { isRoot } from "../drivers/oci/root-need.js";
import { prepareRuntimeDir } from "../drivers/oci/runtime-dir.js";
import { ALL_RUNTIME_NAMES, findRuntimes } from "../drivers/oci/runtime-probe.js";
import { ECOSYSTEM_PROFILE, loadSeccomp } from "../drivers/oci/seccomp.js";
import { type PlatformPaths, preparePaths, resolvePaths } from "../paths.js";
import { readOrEmpty } from "../read-or-empty.js";
import { BASE } from "../templates/system-templates.js";
import { createTemplateStore } from "../templates/template-store.js";
import { checkLocalhostNames } from "./check-localhost.js";
import { checkWithoutRoot } from "./rootless-checks.js";
import { SYSTEM_PACKAGES } from "./system-packages.js";

/** One thing that was looked at. */
export interface DoctorCheck {
  readonly name: string;
  /** `missing`: no sandbox runs without it; `warning`: sandboxes run with less. */
  readonly status: "ok" | "warning" | "missing";
  readonly detail: string;
  /** Command that puts it right. */
  readonly fix?: string;
}

/** What this machine can do. */
export interface DoctorReport {
  /** True when local sandboxes run here. */
  readonly isReady: boolean;
  readonly checks: readonly DoctorCheck[];
  /** What a sandbox would have; absent when none runs. */
  readonly isolation?: IsolationReport;
}

const SETUP = "abx setup";
const LITTLE_DISK_BYTES = 2 * 1024 ** 3;

/** Look at the machine and run a real sandbox with every OCI runtime on it. Changes nothing that stays. */
export async function runDoctor(paths: PlatformPaths = resolvePaths()): Promise<DoctorReport> {
  if (process.platform !== "linux") {
    return { isReady: false, checks: [{ name: "system", status: "missing", detail: `${process.platform}: local sandboxes need Linux` }] };
  }
  const runtimes: RuntimeChecks = isRoot() ? await checkRuntimes(paths) : { checks: checkRuntimeNames() };
  const checks = [
    { name: "system", status: "ok", detail: `${osName()}, Linux ${release()}` } as const,
    { name: "node", status: "ok", detail: `${process.version} (${process.execPath})` } as const,
    ...(isRoot() ? [{ name: "user", status: "ok", detail: "root" } as const] : checkWithoutRoot()),
    ...runtimes.checks,
    ...(isRoot() ? [checkDiskLimit(runtimes.info)] : []),
    checkCgroups(),
    checkUserNamespaces(),
    checkIdRange(),
    checkSeccomp(),
    ...checkPackages(),
    checkTemplates(paths),
    checkDisk(paths),
    await checkLocalhostNames(),
  ];
  const isReady = checks.every(({ status }) => status !== "missing");
  return { isReady, checks, ...(runtimes.info === undefined ? {} : { isolation: toDefaultIsolation(runtimes.info) }) };
}

/** What a sandbox of a platform has that is started with the environment of this process. */
function toDefaultIsolation(info: EngineInfo): IsolationReport {
  const report = toIsolationReport(info);
  const disk = report.limits.disk && Number(process.env.AGENT_SANDBOX_DISK_MB ?? 0) > 0;
  return { ...report, limits: { ...report.limits, disk } };
}

/** Only root can try them. */
function checkRuntimeNames(): DoctorCheck[] {
  const found = findRuntimes(ALL_RUNTIME_NAMES);
  if (found.length === 0) return [{ name: "runtime", status: "missing", detail: "neither crun nor runc is installed", fix: SETUP }];
  return found.map(({ name, path }) => ({ name, status: "warning", detail: `${path}, not tried without root` }));
}

/** A limit of what a sandbox may write is a choice of whoever starts the platform. */
function checkDiskLimit(info: EngineInfo | undefined): DoctorCheck {
  const name = "disk limit";
  if (info?.hasDisks !== true) return { name, status: "warning", detail: "sandboxes cannot have disks of limited size here" };
  return {
    name,
    status: "ok",
    detail: "off by default; abx serve --disk-mb 4096, or AGENT_SANDBOX_DISK_MB, gives each sandbox a disk of that size",
  };
}

interface RuntimeChecks {
  readonly checks: DoctorCheck[];
  readonly info?: EngineInfo;
}

async function checkRuntimes(paths: PlatformPaths): Promise<RuntimeChecks> {
  const found = findRuntimes(ALL_RUNTIME_NAMES);
  if (found.length === 0)
    return { checks: [{ name: "runtime", status: "missing", detail: "neither crun nor runc is installed", fix: SETUP }] };
  try {
    const info = await probeAll(paths);
    const checks = info.probes.map(({ name, version, path, failure }): DoctorCheck => {
      const detail = `${version} (${path})`;
      if (failure !== undefined) return { name, status: "warning", detail: `${detail} does not work here: ${failure}` };
      return { name, status: "ok", detail: `${detail} runs a sandbox${name === info.runtime.name ? ", used" : ""}` };
    });
    return { checks, info };
  } catch (error) {
    return { checks: [{ name: "runtime", status: "missing", detail: messageOf(error), fix: SETUP }] };
  }
}

async function probeAll(paths: PlatformPaths): Promise<EngineInfo> {
  preparePaths(paths);
  const files = findPackageFiles();
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const config = {
    sandboxesDir: paths.sandboxesDir,
    socketsDir: paths.socketsDir,
    stateDir: join(paths.runDir, "runtime-state"),
    runtimeDir: prepareRuntimeDir(paths.runtimeDir, files),
    probeFile: join(paths.dataDir, "runtime-probe.json"),
    runtimeNames: ALL_RUNTIME_NAMES,
    disksDir: join(paths.dataDir, "disks"),
    probeAll: true,
  };
  const helper = new HelperProcess({ script: files.runtimeHelper, config, logger: quiet });
  try {
    return await helper.open();
  } finally {
    await helper.close();
  }
}

function checkCgroups(): DoctorCheck {
  const { mode, controllers } = readCgroupLayout();
  const missing = Object.entries(controllers).flatMap(([name, isThere]) => (isThere ? [] : [name]));
  if (missing.length === 0) return { name: "cgroups", status: "ok", detail: `${mode} with memory, cpu and pids` };
  return { name: "cgroups", status: "warning", detail: `${mode} without ${missing.join(", ")}: no limits of those` };
}

function checkUserNamespaces(): DoctorCheck {
  const max = Number(readOrEmpty("/proc/sys/user/max_user_namespaces"));
  if (max > 0) return { name: "user namespaces", status: "ok", detail: `up to ${max}` };
  return {
    name: "user namespaces",
    status: "missing",
    detail: "this kernel allows none",
    fix: "sysctl -w user.max_user_namespaces=10000",
  };
}

function checkIdRange(): DoctorCheck {
  const range = findIdRange("root");
  if (range === undefined) return { name: "user ids", status: "missing", detail: "no free block of 65536 ids in /etc/subuid" };
  const detail = `root inside is host uid ${range.base}`;
  if (/^root:/m.test(readOrEmpty("/etc/subuid"))) return { name: "user ids", status: "ok", detail };
  return { name: "user ids", status: "warning", detail: `${detail}; the ids are not reserved in /etc/subuid`, fix: SETUP };
}

function checkSeccomp(): DoctorCheck {
  if (loadSeccomp([]).source === "ecosystem") return { name: "seccomp", status: "ok", detail: `profile ${ECOSYSTEM_PROFILE}, hardened` };
  return { name: "seccomp", status: "warning", detail: "built-in list of refused calls", fix: SETUP };
}

function checkPackages(): DoctorCheck[] {
  return SYSTEM_PACKAGES.map(({ name, purpose, isOptional, isInstalled }) => {
    if (isInstalled()) return { name: `package ${name}`, status: "ok", detail: purpose };
    // What a missing package really breaks is said by the check of the thing itself.
    return {
      name: `package ${name}`,
      status: "warning",
      detail: `not installed; ${purpose}${isOptional ? " (optional)" : ""}`,
      fix: SETUP,
    };
  });
}

function checkTemplates(paths: PlatformPaths): DoctorCheck {
  try {
    const templates = createTemplateStore(paths.templatesDir).list();
    const names = templates.map(({ aliases, templateId }) => aliases[0] ?? templateId);
    if (names.includes(BASE.alias)) return { name: "templates", status: "ok", detail: names.join(", ") };
    return { name: "templates", status: "missing", detail: `no "${BASE.alias}" in ${paths.templatesDir}`, fix: SETUP };
  } catch (error) {
    return { name: "templates", status: "missing", detail: messageOf(error), fix: SETUP };
  }
}

function checkDisk(paths: PlatformPaths): DoctorCheck {
  const directory = nearestExisting(paths.dataDir);
  const { bavail, bsize } = statfsSync(directory);
  const freeBytes = bavail * bsize;
  const detail = `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free in ${directory}`;
  return { name: "disk", status: freeBytes < LITTLE_DISK_BYTES ? "warning" : "ok", detail };
}

function nearestExisting(directory: string): string {
  try {
    statfsSync(directory);
    return directory;
  } catch {
    return nearestExisting(dirname(directory));
  }
}

function osName(): string {
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(readOrEmpty("/etc/os-release"))?.[1] ?? "Linux";
}
