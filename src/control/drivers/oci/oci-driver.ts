import { existsSync, readdirSync } from "node:fs";
import { createConnection, type NetConnectOpts, type Socket } from "node:net";
import { join } from "node:path";
import { ConnectionError, FailedPreconditionError } from "../../../errors/error-classes.js";
import { STREAM_BUFFER_BYTES } from "../../../shared/stream-buffer.js";
import type { Logger } from "../../logger.js";
import type { PlatformPaths } from "../../paths.js";
import type { Driver, DriverCapabilities, Instance, InstanceSpec, IsolationReport } from "../driver.js";
import { SANDBOX_NAMESPACES } from "./bundle.js";
import { type SnapshotBuild, startSnapshotBuild } from "./daemon-snapshot.js";
import { GVISOR, stateEntries } from "./gvisor.js";
import { HelperProcess } from "./helper-process.js";
import type { EngineInfo } from "./helper-protocol.js";
import { findPackageFiles, type PackageFiles } from "./package-files.js";
import { prepareRuntimeDir, pruneRuntimeDirs } from "./runtime-dir.js";
import { RUNTIME_NAMES } from "./runtime-probe.js";
import { usedRuntimeDir } from "./sandbox-files.js";
import { socketFile } from "./socket-file.js";

/** Parts of the platform that the driver works with. */
export interface OciDriverOptions {
  readonly paths: Pick<PlatformPaths, "dataDir" | "runDir" | "sandboxesDir" | "socketsDir" | "runtimeDir">;
  readonly logger: Logger;
  /** Built files of the package. @defaultValue those of the installed package */
  readonly packageFiles?: PackageFiles;
  /** OCI runtimes that may be used, best first. @defaultValue `["crun", "runc"]` */
  readonly runtimeNames?: readonly string[];
  /** Limit disks where an instance asks for it. @defaultValue false */
  readonly withDisks?: boolean;
}

/** Sandboxes as OCI containers of `crun` or `runc`, one user namespace each. */
export function createOciDriver(options: OciDriverOptions): Driver {
  const { paths, logger } = options;
  let helper: HelperProcess | undefined;
  let info: EngineInfo | undefined;
  let snapshot: SnapshotBuild | undefined;

  const opened = (): HelperProcess => {
    if (helper === undefined) throw new FailedPreconditionError("the OCI driver is not open");
    return helper;
  };

  const toInstance = (id: string): Instance => ({
    id,
    connect: (options) => connectToDaemon(id, { path: socketFile(paths.socketsDir, id), ...options }),
    async destroy() {
      await opened().call("destroy", { id });
    },
    harvest: (target) => opened().call("harvest", { id, target }),
    async freeze() {
      await opened().call("freeze", { id });
    },
    thaw: () => opened().call("thaw", { id }),
    async stop() {
      await opened().call("stop", { id });
    },
    capture: (target) => opened().call("capture", { id, target }),
  });

  return {
    name: "oci",

    async open() {
      const packageFiles = options.packageFiles ?? findPackageFiles();
      const runtimeDir = prepareRuntimeDir(paths.runtimeDir, packageFiles);
      const started = new HelperProcess({
        script: packageFiles.runtimeHelper,
        config: {
          sandboxesDir: paths.sandboxesDir,
          socketsDir: paths.socketsDir,
          stateDir: join(paths.runDir, "runtime-state"),
          runtimeDir,
          probeFile: join(paths.dataDir, "runtime-probe.json"),
          runtimeNames: options.runtimeNames ?? RUNTIME_NAMES,
          ...(options.withDisks === true && { disksDir: join(paths.dataDir, "disks") }),
        },
        logger,
      });
      try {
        info = await started.open();
      } catch (error) {
        await started.close();
        throw error;
      }
      helper = started;
      snapshot = startSnapshotBuild(runtimeDir, packageFiles, logger);
      const used = new Set([runtimeDir, ...mountedRuntimeDirs(paths.sandboxesDir)]);
      pruneRuntimeDirs(paths.runtimeDir, (directory) => used.has(directory));
      return toCapabilities(info);
    },

    async create(spec: InstanceSpec) {
      await opened().call("create", spec);
      return toInstance(spec.id);
    },

    async list() {
      const found = await opened().call("list", null);
      return found.map(({ id, ...facts }) => ({ instance: toInstance(id), ...facts }));
    },

    async usage(ids, { withDisk }) {
      return new Map(Object.entries(await opened().call("usage", { ids, withDisk })));
    },

    isolation(id) {
      if (info === undefined) throw new FailedPreconditionError("the OCI driver is not open");
      return toIsolationReport(info, id === undefined ? undefined : runtimeOf(join(paths.runDir, "runtime-state"), id));
    },

    async close() {
      await snapshot?.cancel();
      await helper?.close();
      helper = undefined;
    },
  };
}

function connectToDaemon(id: string, options: NetConnectOpts): Promise<Socket> {
  return new Promise((resolve, reject) => {
    // The socket hands its options on to the stream that it is, which its type leaves out.
    const buffered = { ...options, writableHighWaterMark: STREAM_BUFFER_BYTES };
    const socket = createConnection(buffered);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (cause) => {
      reject(
        new ConnectionError(`the daemon of sandbox "${id}" is gone (${(cause as NodeJS.ErrnoException).code})`, { cause, sandboxId: id }),
      );
    });
  });
}

function mountedRuntimeDirs(sandboxesDir: string): string[] {
  return (existsSync(sandboxesDir) ? readdirSync(sandboxesDir) : []).flatMap((name) => usedRuntimeDir(join(sandboxesDir, name)) ?? []);
}

/** Name of the runtime that an instance was started with, perhaps by an earlier platform. */
function runtimeOf(stateDir: string, id: string): string | undefined {
  return readdirSync(stateDir).find((name) => stateEntries(join(stateDir, name), id).length > 0);
}

function toCapabilities({ cgroups, hasDisks }: EngineInfo): DriverCapabilities {
  return { pause: cgroups.freezer, snapshot: true, checkpointMemory: false, limits: { ...cgroups.controllers, disk: hasDisks } };
}

const SHARED_KERNEL = "Sandboxes share the kernel of this machine: a fault in the kernel can break the isolation.";
const SHARED_IDS = "All sandboxes use the same range of host ids; mount, pid and network namespaces separate them from each other.";

/**
 * The facts of a machine as a user reads them.
 *
 * @param runtimeName that of the instance. @defaultValue the one that new instances get
 */
export function toIsolationReport(info: EngineInfo, runtimeName: string = info.runtime.name): IsolationReport {
  const { limits: kept } = toCapabilities(info);
  const isGvisor = runtimeName === GVISOR;
  const limits = { ...kept, pids: kept.pids && !isGvisor };
  // The disk is told about by those who know whether a limit was asked for.
  const missing = (["memory", "cpu", "pids"] as const).filter((name) => !limits[name]);
  return {
    level: isGvisor ? "gvisor" : "container",
    runtime: runtimeName,
    runtimeVersion: info.probes.find(({ name }) => name === runtimeName)?.version ?? "unknown",
    namespaces: SANDBOX_NAMESPACES,
    hostUidOfRoot: info.hostIdBase,
    seccomp: isGvisor ? "runtime" : info.seccomp,
    limits,
    openFiles: info.openFiles,
    network: "proxy",
    caveats: [
      ...(isGvisor ? [] : [SHARED_KERNEL]),
      SHARED_IDS,
      ...missing.map((name) => `There is no limit of ${name}: a sandbox can use all that the machine has.`),
    ],
  };
}
