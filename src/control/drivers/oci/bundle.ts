import type { InstanceLimits, InstanceMount } from "../driver.js";
import { SANDBOX_CAPABILITIES } from "./capabilities.js";
import type { IdRange } from "./id-range.js";
import type { OciMount, OciRlimit, OciSeccomp, OciSpec } from "./oci-spec.js";

/** Where the runtime directory stands in every sandbox. */
export const RUNTIME_MOUNT = "/opt/agent-sandbox";

/** Start-up snapshot of the daemon in the runtime directory; it appears some time after the directory. */
export const DAEMON_BLOB = "daemon.blob";

/** Directory of the root file system inside the bundle; the overlay is mounted there in a namespace that only the container keeps. */
export const ROOTFS_DIR = "rootfs";

/** What a bundle depends on. */
export interface BundleOptions {
  readonly id: string;
  readonly idRange: IdRange;
  /** Host directory that becomes {@link RUNTIME_MOUNT}. */
  readonly runtimeDir: string;
  /** Below the root of every cgroup hierarchy. */
  readonly cgroupsPath: string;
  readonly limits: InstanceLimits;
  readonly host: HostFacts;
  readonly seccomp: OciSeccomp;
  /** Replaces the daemon; for probes. */
  readonly args?: readonly string[];
  readonly extraMounts?: readonly OciMount[];
}

/** What this machine allows. */
export interface HostFacts {
  /** Hard limits of this process, which a child cannot raise without CAP_SYS_RESOURCE; `Infinity` for none. */
  readonly hardOpenFiles: number;
  readonly oomScoreAdj: number;
  readonly controllers: { readonly memory: boolean; readonly cpu: boolean; readonly pids: boolean };
  /** The kernel accounts swap per cgroup. */
  readonly swapLimit: boolean;
}

/**
 * Pid 1: starts the daemon with the listening socket as fd 3, closes its own copy, reaps orphans and ends when the daemon ends, which
 * takes every other process of the pid namespace along.
 */
const INIT = `exec 2>/run/agent-sandbox.log
[ ! -f ${RUNTIME_MOUNT}/${DAEMON_BLOB} ] || set -- --snapshot-blob ${RUNTIME_MOUNT}/${DAEMON_BLOB}
${RUNTIME_MOUNT}/node "$@" ${RUNTIME_MOUNT}/daemon.mjs --fd 3 &
exec 3<&-
wait $!`;

const NAMESPACES = ["user", "pid", "mount", "ipc", "uts", "network", "cgroup"] as const;

/** Namespaces of every sandbox, for reports. */
export const SANDBOX_NAMESPACES: readonly string[] = NAMESPACES;

const CPU_PERIOD_US = 100_000;
const OPEN_FILES = 65_536;
/** The kernel ends guests before programs of the host when memory is short. */
const OOM_SCORE_ADJ = 300;

/** Paths of procfs and sysfs that show or change the host, as container engines hide them. */
const MASKED_PATHS = [
  "/proc/acpi",
  "/proc/asound",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
];
/** Directories of version 1 below `/sys/fs/cgroup`; those that a machine does not have are passed over. */
const CGROUP_V1_DIRS = [
  "blkio",
  "cpu",
  "cpu,cpuacct",
  "cpuacct",
  "cpuset",
  "devices",
  "freezer",
  "hugetlb",
  "memory",
  "misc",
  "net_cls",
  "net_cls,net_prio",
  "net_prio",
  "perf_event",
  "pids",
  "rdma",
  "systemd",
];
const READONLY_PATHS = [
  "/proc/bus",
  "/proc/fs",
  "/proc/irq",
  "/proc/sys",
  "/proc/sysrq-trigger",
  "/sys/fs/cgroup",
  // A runtime binds each path over itself, and what is mounted below comes along writable, although it was not.
  ...CGROUP_V1_DIRS.map((name) => `/sys/fs/cgroup/${name}`),
];

/** The OCI configuration of one sandbox. Pure: equal options give an equal bundle. */
export function createBundle(options: BundleOptions): OciSpec {
  const { id, idRange, limits, host, seccomp } = options;
  const mapping = [{ containerID: 0, hostID: idRange.base, size: idRange.size }];
  return {
    ociVersion: "1.0.2",
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: options.args ?? ["/bin/sh", "-c", INIT],
      env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"],
      cwd: "/",
      capabilities: { bounding: SANDBOX_CAPABILITIES, effective: SANDBOX_CAPABILITIES, permitted: SANDBOX_CAPABILITIES },
      rlimits: toRlimits(host),
      // sudo inside needs setuid programs to work.
      noNewPrivileges: false,
      oomScoreAdj: Math.max(host.oomScoreAdj, OOM_SCORE_ADJ),
    },
    root: { path: ROOTFS_DIR, readonly: false },
    hostname: id,
    mounts: [...systemMounts(), runtimeMount(options.runtimeDir), ...(options.extraMounts ?? [])],
    linux: {
      uidMappings: mapping,
      gidMappings: mapping,
      namespaces: NAMESPACES.map((type) => ({ type })),
      cgroupsPath: options.cgroupsPath,
      resources: {
        devices: [{ allow: false, access: "rwm" }],
        ...(host.controllers.memory && {
          memory: { limit: limits.memoryBytes, ...(host.swapLimit && { swap: limits.memoryBytes }) },
        }),
        ...(host.controllers.cpu && { cpu: { quota: Math.round(limits.cpuCount * CPU_PERIOD_US), period: CPU_PERIOD_US } }),
        ...(host.controllers.pids && { pids: { limit: limits.pidsMax } }),
      },
      seccomp,
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READONLY_PATHS,
    },
  };
}

/** Open files that each process of a sandbox may have. */
export function openFilesLimit({ hardOpenFiles }: HostFacts): number {
  return Math.min(hardOpenFiles, OPEN_FILES);
}

function toRlimits(host: HostFacts): OciRlimit[] {
  const openFiles = openFilesLimit(host);
  return [
    { type: "RLIMIT_CORE", soft: 0, hard: 0 },
    { type: "RLIMIT_NOFILE", soft: openFiles, hard: openFiles },
  ];
}

function systemMounts(): OciMount[] {
  const safe = ["nosuid", "noexec", "nodev"];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: safe },
    { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "strictatime", "mode=755", "size=65536k"] },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    },
    { destination: "/dev/shm", type: "tmpfs", source: "shm", options: ["nosuid", "nodev", "mode=1777", "size=262144k"] },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: safe },
    { destination: "/sys", type: "sysfs", source: "sysfs", options: [...safe, "ro"] },
    { destination: "/sys/fs/cgroup", type: "cgroup", source: "cgroup", options: [...safe, "relatime", "ro"] },
    { destination: "/run", type: "tmpfs", source: "tmpfs", options: ["nosuid", "nodev", "mode=755", "size=65536k"] },
  ];
}

/** Not recursive: what is mounted below on the host stays there. */
export function toOciMount({ source, target, readOnly }: InstanceMount): OciMount {
  return { destination: target, type: "bind", source, options: ["bind", readOnly ? "ro" : "rw", "nosuid", "nodev"] };
}

function runtimeMount(runtimeDir: string): OciMount {
  return { destination: RUNTIME_MOUNT, type: "bind", source: runtimeDir, options: ["rbind", "ro", "nosuid", "nodev"] };
}
