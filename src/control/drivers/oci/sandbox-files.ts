import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { InternalError } from "../../../errors/error-classes.js";
import { ROOTFS_DIR } from "./bundle.js";
import type { OciSpec } from "./oci-spec.js";
import { runTool } from "./run-tool.js";

/** What a sandbox's directory is made from. */
export interface SandboxFiles {
  readonly id: string;
  /** Layers of the template, lowest first; owned by the sandbox's ids. */
  readonly lowerDirs: readonly string[];
  readonly runtimeDir: string;
  readonly hostIdBase: number;
  readonly spec: OciSpec;
  /** Existing directory for the writable layer, relative to the sandbox's own. @defaultValue that of the sandbox, which is made */
  readonly writable?: string;
}

/** Make the directory of a sandbox. The runtime passes with the sandbox's ids, other users of this machine do not. */
export function makeSandboxDir(directory: string, hostIdBase: number): void {
  mkdirSync(directory, { mode: 0o700 });
  chownSync(directory, 0, hostIdBase);
  chmodSync(directory, 0o710);
}

/** `l0` is the lowest layer; short, because all names together must fit one mount option. */
const LOWER_LINK = /^l\d+$/;
const RUNTIME_LINK = "runtime";

/**
 * Fill a new sandbox directory: bundle, empty writable layer with the names of this sandbox, links to what it uses.
 *
 * The directory belongs to root and the group of the sandbox's root, 0710: the runtime passes with the sandbox's ids, other users of
 * this machine do not.
 */
export function writeSandboxFiles(directory: string, { id, lowerDirs, runtimeDir, hostIdBase, spec, writable = "." }: SandboxFiles): void {
  if (writable === ".") makeSandboxDir(directory, hostIdBase);
  for (const [index, lowerDir] of lowerDirs.entries()) symlinkSync(lowerDir, join(directory, `l${index}`));
  symlinkSync(runtimeDir, join(directory, RUNTIME_LINK));
  mkdirSync(join(directory, writable, "work"), { mode: 0o700 });
  mkdirSync(join(directory, ROOTFS_DIR), { mode: 0o700 });
  const upper = join(directory, writable, "upper");
  makeGuestDirectory(upper, hostIdBase);
  makeGuestDirectory(join(upper, "etc"), hostIdBase);
  writeGuestFile(join(upper, "etc/hostname"), `${id}\n`, hostIdBase);
  writeGuestFile(
    join(upper, "etc/hosts"),
    `127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n127.0.1.1\t${id}\n`,
    hostIdBase,
  );
  writeFileSync(join(directory, "config.json"), JSON.stringify(spec), { mode: 0o600 });
}

/** Prepare the directory of a stopped sandbox for another start: the bundle is new, what the guest wrote and the layers below stay. */
export function rewriteSandboxFiles(directory: string, { runtimeDir, spec }: Pick<SandboxFiles, "runtimeDir" | "spec">): void {
  rmSync(join(directory, RUNTIME_LINK), { force: true });
  symlinkSync(runtimeDir, join(directory, RUNTIME_LINK));
  writeFileSync(join(directory, "config.json"), JSON.stringify(spec), { mode: 0o600 });
}

/** Directory of the runtime files that a sandbox has mounted; `undefined` when it is not a whole sandbox. */
export function usedRuntimeDir(directory: string): string | undefined {
  return readLink(join(directory, RUNTIME_LINK));
}

/** Layers of the template that a sandbox stands on, lowest first; empty when it is not a whole sandbox. */
export function usedLowerDirs(directory: string): string[] {
  return lowerLinks(directory).flatMap((name) => readLink(join(directory, name)) ?? []);
}

/** Value of the overlay's mount option `lowerdir`, relative to the sandbox directory: the highest layer comes first. */
export function lowerOption(directory: string): string {
  return lowerLinks(directory).reverse().join(":");
}

/** Files that every sandbox gets anew from the platform or its daemon, below the root. */
const FILES_OF_ONE_SANDBOX = [
  "etc/hostname",
  "etc/hosts",
  "etc/apt/apt.conf.d/90agent-sandbox-egress",
  "etc/sudoers.d/agent-sandbox-egress",
];

/**
 * Take the writable layer of a sandbox without processes, or a copy of it, for a layer of a template: the files that every sandbox gets
 * anew are left out.
 *
 * @returns false when nothing else was changed.
 */
export function cleanUpper(upper: string): boolean {
  for (const file of FILES_OF_ONE_SANDBOX) {
    const names = file.split("/");
    const parents = names.slice(0, -1).map((_, index) => join(upper, ...names.slice(0, index + 1)));
    // The guest may have put a link in the place of a directory.
    if (!parents.every((parent) => lstatSync(parent, { throwIfNoEntry: false })?.isDirectory())) continue;
    rmSync(join(upper, file), { recursive: true, force: true });
  }
  return hasOtherEntries(upper, "");
}

/** Directories that hold only {@link FILES_OF_ONE_SANDBOX} are in every writable layer, whether anything was changed or not. */
function hasOtherEntries(upper: string, directory: string): boolean {
  return readdirSync(join(upper, directory), { withFileTypes: true }).some((entry) => {
    const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
    const isExpected = entry.isDirectory() && FILES_OF_ONE_SANDBOX.some((file) => file.startsWith(`${path}/`));
    return !isExpected || hasOtherEntries(upper, path);
  });
}

function lowerLinks(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => LOWER_LINK.test(name))
    .sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
}

/**
 * Remove a sandbox directory. rm(1) walks by descriptor, so it also removes trees whose paths a guest made longer than the kernel takes.
 *
 * @throws {@link InternalError} something could not be removed.
 */
export async function removeTree(directory: string): Promise<void> {
  const { code, complaint } = await runTool("rm", ["-rf", "--one-file-system", "--", directory]);
  if (code !== 0) throw new InternalError(`cannot remove ${directory}: ${complaint.trim()}`);
}

/** Directories of the writable layer hide the modes of those below, so they get the usual ones. */
function makeGuestDirectory(path: string, hostIdBase: number): void {
  mkdirSync(path);
  chmodSync(path, 0o755);
  chownSync(path, hostIdBase, hostIdBase);
}

function writeGuestFile(path: string, text: string, hostIdBase: number): void {
  writeFileSync(path, text);
  chmodSync(path, 0o644);
  chownSync(path, hostIdBase, hostIdBase);
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
