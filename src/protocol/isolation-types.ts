/**
 * How strong the wall around a sandbox is, weakest first: namespaces and filters on the machine's kernel; a kernel in user space between; a
 * virtual machine.
 */
export type IsolationLevel = "container" | "gvisor" | "vm";

/** How a sandbox is isolated, and what is not protected. */
export interface SandboxIsolation {
  readonly level: IsolationLevel;
  /** OCI runtime that runs it, such as `crun`. */
  readonly runtime: string;
  readonly runtimeVersion: string;
  /** Kernel namespaces of its own. */
  readonly namespaces: readonly string[];
  /** User id that root inside has on the machine. */
  readonly hostUidOfRoot: number;
  /** Filter of system calls: the common profile of container tools, a list of our own, the runtime's own, or none. */
  readonly seccomp: "ecosystem" | "built-in" | "runtime" | "none";
  /** What is enforced; an absent one is not. */
  readonly limits: EnforcedLimits;
  /** `none`: loopback inside only. `proxy`: what leaves goes through the platform's proxy, which decides about every connection. */
  readonly network: "none" | "proxy";
  /** What is not protected, one sentence each. */
  readonly caveats: readonly string[];
}

/** Limits that are enforced. */
export interface EnforcedLimits {
  /** MiB. */
  readonly memoryMB?: number;
  readonly cpuCount?: number;
  /** Processes and threads. */
  readonly processes?: number;
  /** Open files per process. */
  readonly openFiles?: number;
  /** MiB that can be written. */
  readonly diskMB?: number;
}

/** A directory of this machine in the file system of a sandbox. Local platform only. */
export interface HostMount {
  /** Absolute path on this machine; a directory that the user of the platform owns. */
  readonly hostPath: string;
  /** Absolute path inside. */
  readonly path: string;
  /** Refuse every write. What is not read-only can be written where others may write: inside, the files of this machine are nobody's. @defaultValue true */
  readonly readOnly?: boolean | undefined;
}
