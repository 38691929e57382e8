/** The parts of an OCI runtime configuration (opencontainers/runtime-spec, config.md and config-linux.md) that we write. */
export interface OciSpec {
  readonly ociVersion: string;
  readonly process: {
    readonly terminal: false;
    readonly user: { readonly uid: number; readonly gid: number };
    readonly args: readonly string[];
    readonly env: readonly string[];
    readonly cwd: string;
    readonly capabilities: Readonly<Record<"bounding" | "effective" | "permitted", readonly string[]>>;
    readonly rlimits: readonly OciRlimit[];
    readonly noNewPrivileges: boolean;
    readonly oomScoreAdj: number;
  };
  readonly root: { readonly path: string; readonly readonly: boolean };
  readonly hostname: string;
  readonly mounts: readonly OciMount[];
  readonly linux: {
    readonly uidMappings: readonly OciIdMapping[];
    readonly gidMappings: readonly OciIdMapping[];
    readonly namespaces: readonly { readonly type: string }[];
    readonly cgroupsPath: string;
    readonly resources: {
      readonly devices: readonly { readonly allow: boolean; readonly access: string }[];
      readonly memory?: { readonly limit: number; readonly swap?: number };
      readonly cpu?: { readonly quota: number; readonly period: number };
      readonly pids?: { readonly limit: number };
    };
    readonly seccomp?: OciSeccomp;
    readonly maskedPaths: readonly string[];
    readonly readonlyPaths: readonly string[];
  };
}

export interface OciRlimit {
  readonly type: string;
  readonly soft: number;
  readonly hard: number;
}

export interface OciMount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

interface OciIdMapping {
  readonly containerID: number;
  readonly hostID: number;
  readonly size: number;
}

export interface OciSeccomp {
  readonly defaultAction: string;
  readonly defaultErrnoRet?: number;
  readonly architectures: readonly string[];
  readonly syscalls: readonly OciSyscallRule[];
}

/** A rule of a seccomp filter. Rules of one name with the same action are alternatives. */
export interface OciSyscallRule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly OciSyscallArg[];
}

export interface OciSyscallArg {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: string;
}
