import { execFile } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../../shared/message-of.js";
import { createBundle, type HostFacts } from "./bundle.js";
import { type CgroupLayout, destroyCgroup } from "./cgroups.js";
import { GVISOR, stateEntries, toGvisorSpec } from "./gvisor.js";
import type { IdRange } from "./id-range.js";
import type { OciSeccomp } from "./oci-spec.js";
import { runContainer } from "./run-container.js";
import type { RuntimeProbe } from "./runtime-probe.js";
import { removeTree, writeSandboxFiles } from "./sandbox-files.js";

/** What a probe needs of the engine. */
export interface ProbeParts {
  readonly sandboxesDir: string;
  readonly stateDir: string;
  readonly runtimeDir: string;
  readonly cgroupParent: string;
  readonly cgroups: CgroupLayout;
  readonly idRange: IdRange;
  readonly host: HostFacts;
  readonly seccomp: OciSeccomp;
}

const MERGED_LINKS = ["bin", "lib", "lib64", "sbin"];
const EMPTY_DIRECTORIES = ["dev", "etc", "opt", "opt/agent-sandbox", "proc", "run", "sys", "usr"];

/** Run `true` of this machine in a sandbox like any other, only that its root file system is the machine's own `/usr`, read-only. */
export async function probeRuntime(
  { name, path }: { readonly name: string; readonly path: string },
  parts: ProbeParts,
): Promise<RuntimeProbe> {
  const version = await readVersion(path);
  // No sandbox id has a dash, so a probe that is left over is never mistaken for a sandbox, and never in its way.
  const id = `probe-${name}-${process.pid}`;
  const directory = join(parts.sandboxesDir, `.${id}`);
  const template = `${directory}-root`;
  const cgroupsPath = join(parts.cgroupParent, id);
  const stateDir = join(parts.stateDir, name);
  try {
    for (const empty of EMPTY_DIRECTORIES) mkdirSync(join(template, empty), { recursive: true, mode: 0o755 });
    for (const link of MERGED_LINKS) symlinkSync(`usr/${link}`, join(template, link));
    const common = createBundle({
      id,
      idRange: parts.idRange,
      runtimeDir: parts.runtimeDir,
      cgroupsPath,
      limits: { memoryBytes: 256 * 1024 * 1024, cpuCount: 1, pidsMax: 64 },
      host: parts.host,
      seccomp: parts.seccomp,
      args: ["/usr/bin/true"],
      extraMounts: [{ destination: "/usr", type: "bind", source: "/usr", options: ["rbind", "ro", "nosuid", "nodev"] }],
    });
    const spec = name === GVISOR ? toGvisorSpec(common, "", false) : common;
    writeSandboxFiles(directory, { id, lowerDirs: [template], runtimeDir: parts.runtimeDir, hostIdBase: parts.idRange.base, spec });
    await runContainer({ id, runtimePath: path, stateDir, bundleDir: directory, isForeground: true });
    return { name, path, version };
  } catch (error) {
    return { name, path, version, failure: messageOf(error) };
  } finally {
    await destroyCgroup(parts.cgroups, cgroupsPath);
    const left = existsSync(stateDir) ? stateEntries(stateDir, id).map((entry) => join(stateDir, entry)) : [];
    for (const path of [directory, template, ...left]) await removeTree(path);
  }
}

/** True for the id of a probe that no living process makes. */
export function isDeadProbe(id: string): boolean {
  const pid = /^probe-[a-z]+-(\d+)$/.exec(id)?.[1];
  return pid !== undefined && !existsSync(`/proc/${pid}`);
}

/** First line of `--version`, without the name: `1.8.1`. */
async function readVersion(path: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { timeout: 10_000 });
    return /version\s+(\S+)/.exec(stdout)?.[1] ?? "unknown";
  } catch {
    return "unknown";
  }
}
