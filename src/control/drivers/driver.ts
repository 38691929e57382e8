import type { OnReadOpts, Socket } from "node:net";

/** What a driver can do on this machine; a call that needs a missing one is a clear 4xx, never a pretence. */
export interface DriverCapabilities {
  readonly pause: boolean;
  readonly snapshot: boolean;
  readonly checkpointMemory: boolean;
  readonly limits: { readonly memory: boolean; readonly cpu: boolean; readonly pids: boolean; readonly disk: boolean };
}

/** How strong the wall is, weakest first: see `IsolationLevel` in openapi/isolation.yaml. */
export type IsolationLevel = "container" | "gvisor" | "vm";

/** What isolation one instance has, told to the user as it is. */
export interface IsolationReport {
  readonly level: IsolationLevel;
  /** `crun`, `runc`, `runsc`. */
  readonly runtime: string;
  readonly runtimeVersion: string;
  readonly namespaces: readonly string[];
  /** Host uid that root inside the sandbox has. */
  readonly hostUidOfRoot: number;
  /** `ecosystem` is the profile of the container tools on this machine, `built-in` our own, `runtime` that of a runtime, `none` no filter. */
  readonly seccomp: "ecosystem" | "built-in" | "runtime" | "none";
  readonly limits: DriverCapabilities["limits"];
  /** Open files per process; absent when not limited. */
  readonly openFiles?: number;
  /** `none`: loopback only. `proxy`: what leaves goes through the platform's proxy. */
  readonly network: "none" | "proxy";
  /** Sentences that name what is not protected. */
  readonly caveats: readonly string[];
}

/** Resources of one instance. */
export interface InstanceLimits {
  readonly memoryBytes: number;
  readonly cpuCount: number;
  readonly pidsMax: number;
  /** Bytes of the writable layer; absent: as much as the machine has. */
  readonly diskBytes?: number;
}

/** A directory of the host in the file system of an instance. */
export interface InstanceMount {
  /** Host directory; whoever asks for it has checked it. */
  readonly source: string;
  /** Absolute and clean path inside. */
  readonly target: string;
  readonly readOnly: boolean;
}

/** What to start. */
export interface InstanceSpec {
  /** `^[a-z0-9]+$`, unique on this machine. */
  readonly id: string;
  /** Absolute directory of the template build: `template.json`, which names the layers. */
  readonly templateDir: string;
  readonly limits: InstanceLimits;
  readonly mounts?: readonly InstanceMount[];
  /** Start again from the files that {@link Instance.stop} or a reboot of the machine left of this id. @defaultValue false */
  readonly isRestart?: boolean;
}

/** What an instance uses at this moment; counters are since its start. */
export interface InstanceUsage {
  readonly cpuSeconds: number;
  /** Bytes of memory beside the page cache. */
  readonly memoryBytes: number;
  /** Bytes of page cache. */
  readonly cacheBytes: number;
  /** Bytes of its writable layer; `undefined` when it was not measured. */
  readonly diskBytes: number | undefined;
  /** Processes that the kernel killed because the memory limit was reached. */
  readonly oomKills: number;
}

/** What {@link Instance.capture} copied. */
export interface CapturedLayer {
  /** Directories of all layers, lowest first; the copy is the last one, unless nothing was written. */
  readonly layers: readonly string[];
  /** Host id that owns the files of root. */
  readonly hostIdBase: number;
}

/** A started container, by what survives a restart of the control plane: its id. */
export interface Instance {
  readonly id: string;
  /**
   * Open a connection to the daemon's socket; rejects with a ConnectionError when the daemon is gone.
   *
   * `onread` is that of `net.createConnection`: read into a buffer of the caller's.
   */
  connect(options?: { readonly onread?: OnReadOpts }): Promise<Socket>;
  /** Kill every process and remove every trace on the host. Idempotent; resolves when nothing is left. */
  destroy(): Promise<void>;
  /**
   * As {@link destroy}, but what the instance wrote is kept: its writable layer becomes the directory `target`, which must not exist yet.
   * False when nothing was written.
   */
  harvest(target: string): Promise<boolean>;
  /** Let no process run until {@link thaw}; resolves when none does. Idempotent. */
  freeze(): Promise<void>;
  /** Let processes run again. False when there is none: its memory is gone. Idempotent. */
  thaw(): Promise<boolean>;
  /** Kill every process and keep the files, so that the same id can be started again. Idempotent. */
  stop(): Promise<void>;
  /**
   * Copy what the instance wrote into the directory `target`, which must not exist yet; meanwhile its processes stand still, so that the
   * copy is one moment. Resolves when they run again.
   */
  capture(target: string): Promise<CapturedLayer>;
}

/** An instance as {@link Driver.list} finds it. */
export interface FoundInstance {
  readonly instance: Instance;
  readonly isRunning: boolean;
  /** Its files are there, so it can be started again. */
  readonly hasFiles: boolean;
  /** Directories of the layers that it stands on. */
  readonly layers: readonly string[];
}

/** Runs sandboxes on one kind of isolation. */
export interface Driver {
  readonly name: string;
  /**
   * Probe the machine once.
   *
   * @throws {@link FailedPreconditionError} no runtime works here; the message names `abx setup`.
   */
  open(): Promise<DriverCapabilities>;
  /** Resolves when the container runs; the daemon inside may still be starting. Leaves nothing behind when it rejects. */
  create(spec: InstanceSpec): Promise<Instance>;
  /** Instances that an earlier control plane left: running ones to adopt, stopped ones to keep, dead ones to destroy. */
  list(): Promise<readonly FoundInstance[]>;
  /** Measure running instances; those that are gone are left out. Sizes on the disk take time and are asked for seldom. */
  usage(ids: readonly string[], options: { readonly withDisk: boolean }): Promise<ReadonlyMap<string, InstanceUsage>>;
  /** Of an instance, or without an id of the next one. */
  isolation(id?: string): IsolationReport;
  /** Stop helper processes; running instances stay. */
  close(): Promise<void>;
}
