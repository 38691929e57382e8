import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { FailedPreconditionError } from "../../errors/error-classes.js";
import { ECOSYSTEM_PROFILE } from "../drivers/oci/seccomp.js";

/** A package of Debian and Ubuntu that local sandboxes use. */
export interface SystemPackage {
  readonly name: string;
  readonly purpose: string;
  /** Sandboxes work without it, only slower or with a filter of our own. */
  readonly isOptional: boolean;
  isInstalled(): boolean;
}

/** Everything that `abx setup` installs, the needed ones first. */
export const SYSTEM_PACKAGES: readonly SystemPackage[] = [
  byCommand("runc", "runs sandboxes", false),
  byCommand("uidmap", "gives sandboxes their own user ids", false, "newuidmap"),
  byCommand("mmdebstrap", "builds the base template", false),
  byCommand("crun", "runs sandboxes faster", true),
  {
    name: "golang-github-containers-common",
    purpose: "brings the common seccomp profile",
    isOptional: true,
    isInstalled: () => existsSync(ECOSYSTEM_PROFILE),
  },
];

/** Installed only when gVisor is asked for. */
export const GVISOR_PACKAGE: SystemPackage = byCommand("runsc", "runs sandboxes on a kernel in user space (gVisor)", false);

const SYSTEM_DIRECTORIES = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];
const KEPT_OUTPUT_LINES = 10;

/**
 * Install packages with apt-get, through sudo when this user is not root.
 *
 * @throws {@link FailedPreconditionError} apt-get or sudo is missing, or a needed package cannot be installed.
 */
export async function installSystemPackages(packages: readonly SystemPackage[], onProgress: (line: string) => void): Promise<void> {
  if (packages.length === 0) return;
  if (!hasCommand("apt-get")) {
    const names = packages.map(({ name }) => name).join(", ");
    throw new FailedPreconditionError(`This machine has no apt-get. Install what corresponds to these packages of Debian: ${names}.`);
  }
  const needed = packages.filter(({ isOptional }) => !isOptional);
  onProgress(`installing ${packages.map(({ name }) => name).join(", ")}`);
  if ((await aptInstall(packages, onProgress)) === undefined) return;
  onProgress("updating the package lists");
  await runAsRoot(["apt-get", "update"], onProgress);
  if ((await aptInstall(packages, onProgress)) === undefined) return;
  for (const optional of packages.filter(({ isOptional }) => isOptional)) {
    if ((await aptInstall([optional], onProgress)) !== undefined) onProgress(`going on without ${optional.name} (${optional.purpose})`);
  }
  const failure = needed.length === 0 ? undefined : await aptInstall(needed, onProgress);
  if (failure !== undefined) {
    throw new FailedPreconditionError(`apt-get could not install ${needed.map(({ name }) => name).join(", ")}:\n${failure}`);
  }
}

/** True when a program of this name is in PATH or in one of the system's directories. */
export function hasCommand(name: string): boolean {
  return [...(process.env.PATH ?? "").split(delimiter), ...SYSTEM_DIRECTORIES].some((directory) => {
    try {
      accessSync(join(directory, name), constants.X_OK);
      return directory !== "";
    } catch {
      return false;
    }
  });
}

/**
 * Run a program as root; resolves to `undefined`, or to its last lines of output when it failed.
 *
 * @throws {@link FailedPreconditionError} this user is not root and there is no sudo.
 */
export async function runAsRoot(command: readonly string[], onProgress: (line: string) => void): Promise<string | undefined> {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !hasCommand("sudo")) {
    throw new FailedPreconditionError(`"${command.join(" ")}" needs root, and there is no sudo: run abx setup as root.`);
  }
  const [program = "", ...args] = isRoot ? command : ["sudo", "--", "env", "DEBIAN_FRONTEND=noninteractive", ...command];
  const child: ChildProcess = spawn(program, args, {
    // sudo asks for the password on the terminal itself.
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" },
  });
  const lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on("line", (line) => {
      lastLines.push(line);
      if (lastLines.length > KEPT_OUTPUT_LINES) lastLines.shift();
      if (/^(Get:|Unpacking|Setting up)/.test(line)) onProgress(line);
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return code === 0 ? undefined : lastLines.join("\n") || `${program} ended with ${code}`;
}

function aptInstall(packages: readonly SystemPackage[], onProgress: (line: string) => void): Promise<string | undefined> {
  const names = packages.map(({ name }) => name);
  return runAsRoot(["apt-get", "install", "--yes", "--no-install-recommends", ...names], onProgress);
}

function byCommand(name: string, purpose: string, isOptional: boolean, command = name): SystemPackage {
  return { name, purpose, isOptional, isInstalled: () => hasCommand(command) };
}
