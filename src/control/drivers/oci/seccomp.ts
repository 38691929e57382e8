import { readFileSync } from "node:fs";
import { constants } from "node:os";
import type { OciSeccomp, OciSyscallArg, OciSyscallRule } from "./oci-spec.js";

/** Where the container tools of Linux distributions install their common profile (containers-common). */
export const ECOSYSTEM_PROFILE = "/usr/share/containers/seccomp.json";

/** A filter and where it comes from. */
export interface LoadedSeccomp {
  readonly source: "ecosystem" | "built-in";
  readonly filter: OciSeccomp;
}

/** Node's name of the processor → names in OCI and in profiles. */
const ARCHITECTURES: Readonly<Record<string, { readonly oci: string; readonly profile: string }>> = {
  x64: { oci: "SCMP_ARCH_X86_64", profile: "amd64" },
  arm64: { oci: "SCMP_ARCH_AARCH64", profile: "arm64" },
};

const ALLOW = "SCMP_ACT_ALLOW";
const ERRNO = "SCMP_ACT_ERRNO";
const { EPERM, ENOSYS } = constants.errno;
const CLONE_NEWUSER = 0x1000_0000;

/**
 * Calls that a nested user namespace would open to root inside, and the asynchronous interface that a filter cannot see into.
 * The profile allows them since engines also run containers that may use them; a sandbox never needs them.
 */
const NEVER_ALLOWED: readonly string[] = [
  "add_key",
  "fsconfig",
  "fsmount",
  "fsopen",
  "fspick",
  "io_uring_enter",
  "io_uring_register",
  "io_uring_setup",
  "keyctl",
  "mount",
  "mount_setattr",
  "move_mount",
  "open_tree",
  "pivot_root",
  "request_key",
  "setns",
  "umount",
  "umount2",
];

/** Filtered by argument or answered as missing, whatever the profile says. */
const NAMESPACE_CALLS: readonly string[] = ["clone", "clone3", "unshare"];

/** What the built-in filter refuses beside {@link NEVER_ALLOWED}: calls that configure the kernel or see other processes' secrets. */
const BUILT_IN_DENIED: readonly string[] = [
  "acct",
  "bpf",
  "clock_adjtime",
  "clock_settime",
  "create_module",
  "delete_module",
  "fanotify_init",
  "finit_module",
  "get_kernel_syms",
  "get_mempolicy",
  "init_module",
  "ioperm",
  "iopl",
  "kcmp",
  "kexec_file_load",
  "kexec_load",
  "lookup_dcookie",
  "mbind",
  "migrate_pages",
  "move_pages",
  "name_to_handle_at",
  "nfsservctl",
  "open_by_handle_at",
  "perf_event_open",
  "process_madvise",
  "process_vm_readv",
  "process_vm_writev",
  "query_module",
  "quotactl",
  "quotactl_fd",
  "reboot",
  "set_mempolicy",
  "settimeofday",
  "stime",
  "swapoff",
  "swapon",
  "sysfs",
  "syslog",
  "uselib",
  "userfaultfd",
  "ustat",
  "vhangup",
  "vm86",
  "vm86old",
];

/** The filter of every sandbox: the profile of this machine's container tools, hardened, else our own list of refusals. */
export function loadSeccomp(capabilities: readonly string[], profilePath: string = ECOSYSTEM_PROFILE): LoadedSeccomp {
  const architecture = ARCHITECTURES[process.arch];
  const profile = architecture === undefined ? undefined : readProfile(profilePath);
  if (architecture === undefined || profile === undefined) return { source: "built-in", filter: builtInFilter(architecture?.oci) };
  const kept = profile.syscalls.filter((rule) => appliesTo(rule, capabilities, architecture.profile)).map(toOciRule);
  const filter = {
    defaultAction: profile.defaultAction,
    ...(profile.defaultErrnoRet === undefined ? {} : { defaultErrnoRet: profile.defaultErrnoRet }),
    // Without the 32-bit and x32 calls of the profile: their programs end with SIGSYS, guests see less of the kernel, and a filter for one
    // table instead of three saves 20 ms at each start.
    architectures: [architecture.oci],
    syscalls: harden(kept),
  };
  return { source: "ecosystem", filter };
}

/** Rules of `syscalls` without what {@link NEVER_ALLOWED} names, and with user namespaces closed. */
function harden(syscalls: readonly OciSyscallRule[]): OciSyscallRule[] {
  const replaced = new Set([...NEVER_ALLOWED, ...NAMESPACE_CALLS]);
  const kept = syscalls
    .map((rule) => ({ ...rule, names: rule.names.filter((name) => !replaced.has(name)) }))
    .filter((rule) => rule.names.length > 0);
  return [...kept, ...refusals(), { names: ["clone", "unshare"], action: ALLOW, args: newUserIs(0) }];
}

function refusals(): OciSyscallRule[] {
  return [
    { names: NEVER_ALLOWED, action: ERRNO, errnoRet: EPERM },
    // Its flags are in memory where a filter cannot look; "no such call" makes the C library use clone.
    { names: ["clone3"], action: ERRNO, errnoRet: ENOSYS },
    { names: ["clone", "unshare"], action: ERRNO, errnoRet: EPERM, args: newUserIs(CLONE_NEWUSER) },
  ];
}

/** The first argument, flags, has CLONE_NEWUSER set (the flag) or not (0). */
function newUserIs(flag: number): OciSyscallArg[] {
  return [{ index: 0, value: CLONE_NEWUSER, valueTwo: flag, op: "SCMP_CMP_MASKED_EQ" }];
}

function builtInFilter(architecture: string | undefined): OciSeccomp {
  return {
    defaultAction: ALLOW,
    architectures: architecture === undefined ? [] : [architecture],
    syscalls: [...refusals(), { names: BUILT_IN_DENIED, action: ERRNO, errnoRet: EPERM }],
  };
}

/** The format of the profile: OCI rules, some of which depend on capabilities and processors. */
interface Profile {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly syscalls: readonly ProfileRule[];
}

interface ProfileRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly OciSyscallArg[] | null;
  readonly includes?: ProfileCondition;
  readonly excludes?: ProfileCondition;
}

interface ProfileCondition {
  readonly caps?: readonly string[];
  readonly arches?: readonly string[];
  readonly minKernel?: string;
}

function readProfile(path: string): Profile | undefined {
  try {
    const profile = JSON.parse(readFileSync(path, "utf8")) as Partial<Profile>;
    if (typeof profile.defaultAction !== "string" || !Array.isArray(profile.syscalls)) return undefined;
    return profile as Profile;
  } catch {
    return undefined;
  }
}

function appliesTo({ includes = {}, excludes = {} }: ProfileRule, capabilities: readonly string[], architecture: string): boolean {
  const isIncluded =
    (includes.caps ?? []).every((capability) => capabilities.includes(capability)) &&
    (includes.arches === undefined || includes.arches.includes(architecture));
  const isExcluded =
    (excludes.caps ?? []).some((capability) => capabilities.includes(capability)) || (excludes.arches ?? []).includes(architecture);
  return isIncluded && !isExcluded;
}

function toOciRule({ names, action, errnoRet, args }: ProfileRule): OciSyscallRule {
  return {
    names,
    action,
    ...(errnoRet === undefined ? {} : { errnoRet }),
    ...(args === undefined || args === null || args.length === 0 ? {} : { args }),
  };
}
