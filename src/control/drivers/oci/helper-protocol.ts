import type { ErrorReason } from "../../../errors/reason.js";
import type { CapturedLayer, InstanceSpec, InstanceUsage } from "../driver.js";
import type { CgroupLayout } from "./cgroups.js";
import type { RuntimeProbe } from "./runtime-probe.js";

/** Directories that the helper works in; the first message it gets. */
export interface EngineConfig {
  readonly sandboxesDir: string;
  readonly socketsDir: string;
  /** State of the OCI runtimes, gone after a reboot as the containers are. */
  readonly stateDir: string;
  /** The prepared runtime directory of this version. */
  readonly runtimeDir: string;
  /** Where probe results are kept. */
  readonly probeFile: string;
  /** Limit disks where an instance asks for it; empty images are kept in this directory. */
  readonly disksDir?: string;
  /** Runtimes that may be used, best first. */
  readonly runtimeNames: readonly string[];
  /** Probe every runtime afresh, also those that are not needed; for reports. */
  readonly probeAll?: boolean;
}

/** What the helper found out about the machine. */
export interface EngineInfo {
  readonly runtime: RuntimeProbe;
  readonly probes: readonly RuntimeProbe[];
  readonly cgroups: CgroupLayout;
  readonly seccomp: "ecosystem" | "built-in";
  readonly hostIdBase: number;
  /** Disks can be limited. */
  readonly hasDisks: boolean;
  /** Open files that a process of a sandbox may have. */
  readonly openFiles: number;
}

/** A sandbox, or what is left of one. */
export interface FoundSandbox {
  readonly id: string;
  readonly isRunning: boolean;
  readonly hasFiles: boolean;
  readonly layers: readonly string[];
}

/** Calls of the control plane to the helper and their results. */
export interface EngineCalls {
  open: { readonly params: EngineConfig; readonly result: EngineInfo };
  create: { readonly params: InstanceSpec; readonly result: null };
  destroy: { readonly params: { readonly id: string }; readonly result: null };
  harvest: { readonly params: { readonly id: string; readonly target: string }; readonly result: boolean };
  freeze: { readonly params: { readonly id: string }; readonly result: null };
  thaw: { readonly params: { readonly id: string }; readonly result: boolean };
  stop: { readonly params: { readonly id: string }; readonly result: null };
  capture: { readonly params: { readonly id: string; readonly target: string }; readonly result: CapturedLayer };
  usage: {
    readonly params: { readonly ids: readonly string[]; readonly withDisk: boolean };
    readonly result: Readonly<Record<string, InstanceUsage>>;
  };
  list: { readonly params: null; readonly result: readonly FoundSandbox[] };
}

export type EngineMethod = keyof EngineCalls;

/** Control plane → helper. */
export type HelperRequest = {
  [Method in EngineMethod]: { readonly callId: number; readonly method: Method; readonly params: EngineCalls[Method]["params"] };
}[EngineMethod];

/** Helper → control plane, in any order. */
export type HelperResponse =
  | { readonly callId: number; readonly result: EngineCalls[EngineMethod]["result"] }
  | { readonly callId: number; readonly error: { readonly reason: ErrorReason; readonly message: string } };
