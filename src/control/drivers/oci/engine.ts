import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { AlreadyExistsError, FailedPreconditionError, InvalidArgumentError } from "../../../errors/error-classes.js";
import type { CapturedLayer, InstanceSpec, InstanceUsage } from "../driver.js";
import { createBundle, type HostFacts, openFilesLimit, toOciMount } from "./bundle.js";
import { SANDBOX_CAPABILITIES } from "./capabilities.js";
import { readCgroupUsage } from "./cgroup-usage.js";
import { type CgroupLayout, destroyCgroup, hasProcesses, listChildCgroups, readCgroupLayout, removeEmptyCgroup } from "./cgroups.js";
import { ConcurrencyGate } from "./concurrency-gate.js";
import { copyTree } from "./copy-tree.js";
import { DiskImages, hasWritableLayer, upperDir, writableDir } from "./disk-image.js";
import { measureDiskUsage } from "./disk-usage.js";
import { freezeCgroup, thawCgroup } from "./freezer.js";
import { claimSocket, GVISOR, makeSocketDir, stateEntries, toGvisorSpec } from "./gvisor.js";
import type { EngineConfig, EngineInfo, FoundSandbox } from "./helper-protocol.js";
import { readHostFacts } from "./host-facts.js";
import { findIdRange, ID_RANGE_SIZE, type IdRange } from "./id-range.js";
import { openListeningSocket } from "./listening-socket.js";
import { assertMountPlaces } from "./mount-place.js";
import { moveTree } from "./move-tree.js";
import { isDeadProbe, probeRuntime } from "./probe-runtime.js";
import { assertRoot } from "./root-need.js";
import { runContainer } from "./run-container.js";
import { findRuntimes, ProbeCache, type RuntimeProbe } from "./runtime-probe.js";
import { cleanUpper, makeSandboxDir, removeTree, rewriteSandboxFiles, usedLowerDirs, writeSandboxFiles } from "./sandbox-files.js";
import { type LoadedSeccomp, loadSeccomp } from "./seccomp.js";
import { socketFile } from "./socket-file.js";
import { readTemplateLayers } from "./template-layers.js";

const ID = /^[a-z0-9]{1,57}$/;
const CGROUP_ROOT = "/agent-sandbox";
/** Starting more at once makes each one slower without a gain; see measurements of 200 sandboxes in docs/architecture.md. */
const CREATES_AT_ONCE = 3;
const DESTROYS_AT_ONCE = 4;

/** Makes, finds and removes containers. Lives in the runtime helper, never in the control plane. */
export class OciEngine {
  readonly #config: EngineConfig;
  readonly #cgroups: CgroupLayout;
  readonly #cgroupParent: string;
  readonly #host: HostFacts;
  readonly #idRange: IdRange;
  readonly #seccomp: LoadedSeccomp;
  readonly #creates = new ConcurrencyGate(CREATES_AT_ONCE);
  readonly #destroys = new ConcurrencyGate(DESTROYS_AT_ONCE);
  readonly #inCreation = new Set<string>();
  readonly #inDestruction = new Map<string, Promise<void>>();
  readonly #disks: DiskImages;
  #hasDisks = false;
  #runtime: RuntimeProbe | undefined;

  /** @throws {@link FailedPreconditionError} this user can have no sandboxes. */
  constructor(config: EngineConfig) {
    assertRoot();
    const idRange = findIdRange("root");
    if (idRange === undefined) throw new FailedPreconditionError("there is no free block of 65536 user ids in /etc/subuid");
    for (const directory of [config.socketsDir, config.stateDir]) mkdirSync(directory, { recursive: true, mode: 0o700 });
    mkdirSync(config.sandboxesDir, { recursive: true, mode: 0o711 });
    this.#config = config;
    this.#idRange = idRange;
    this.#cgroups = readCgroupLayout();
    // Cgroups are of the whole machine, so each platform has its own place among them.
    this.#cgroupParent = join(CGROUP_ROOT, createHash("sha256").update(realpathSync(config.stateDir)).digest("hex").slice(0, 12));
    this.#host = readHostFacts(this.#cgroups);
    this.#seccomp = loadSeccomp(SANDBOX_CAPABILITIES);
    this.#disks = new DiskImages(config.disksDir ?? config.sandboxesDir);
  }

  /**
   * Choose the runtime.
   *
   * @throws {@link FailedPreconditionError} none is installed, or none runs a sandbox here.
   */
  async open(): Promise<EngineInfo> {
    await this.#buryProbes();
    const { probeFile, runtimeNames, probeAll = false } = this.#config;
    const cache = new ProbeCache(probeFile, this.#cgroups.mode);
    const probes: RuntimeProbe[] = [];
    for (const found of findRuntimes(runtimeNames)) {
      const probe = () => probeRuntime(found, this.#probeParts());
      probes.push(await (probeAll ? probe() : cache.get(found.path, probe)));
      if (!probeAll && probes.at(-1)?.failure === undefined) break;
    }
    const runtime = probes.find(({ failure }) => failure === undefined);
    if (runtime === undefined) throw new FailedPreconditionError(toNoRuntimeText(probes));
    this.#runtime = runtime;
    this.#hasDisks = this.#config.disksDir !== undefined && (await this.#probeDisks(cache)).failure === undefined;
    return {
      runtime,
      probes,
      hasDisks: this.#hasDisks,
      cgroups: this.#cgroups,
      seccomp: this.#seccomp.source,
      hostIdBase: this.#idRange.base,
      openFiles: openFilesLimit(this.#host),
    };
  }

  #probeDisks(cache: ProbeCache): Promise<RuntimeProbe> {
    const [mkfs] = findRuntimes(["mkfs.ext4"]);
    if (mkfs === undefined) return Promise.resolve({ name: "disk", path: "", version: "", failure: "mkfs.ext4 is not installed" });
    return cache.get(mkfs.path, async () => {
      const failure = await this.#disks.probe();
      return { ...mkfs, version: "", ...(failure !== undefined && { failure }) };
    });
  }

  /** Start a container; leaves nothing behind when it rejects. */
  async create(spec: InstanceSpec): Promise<void> {
    assertId(spec.id);
    const runtime = this.#runtime;
    if (runtime === undefined) throw new FailedPreconditionError("the runtime helper is not open");
    const directory = this.#sandboxDir(spec.id);
    const isThere = spec.isRestart === true ? this.#isRunning(spec.id) : existsSync(directory);
    if (this.#inCreation.has(spec.id) || isThere) throw new AlreadyExistsError(`sandbox "${spec.id}" exists already`);
    this.#inCreation.add(spec.id);
    try {
      await this.#creates.run(() => this.#start(spec, runtime, directory));
    } catch (error) {
      if (spec.isRestart === true) await this.#removeRunning(spec.id);
      else await this.#remove(spec.id);
      throw error;
    } finally {
      this.#inCreation.delete(spec.id);
    }
  }

  /** Kill every process and remove every trace; resolves at once when there is none. */
  destroy(id: string): Promise<void> {
    assertId(id);
    const running = this.#inDestruction.get(id);
    if (running !== undefined) return running;
    const destruction = this.#destroys.run(() => this.#remove(id)).finally(() => this.#inDestruction.delete(id));
    this.#inDestruction.set(id, destruction);
    return destruction;
  }

  /** As {@link destroy}, but the writable layer is moved to `target`, which must not exist; false when there was nothing in it. */
  async harvest(id: string, target: string): Promise<boolean> {
    assertId(id);
    let isFilled = false;
    await this.#destroys.run(async () => {
      const directory = this.#sandboxDir(id);
      await destroyCgroup(this.#cgroups, this.#cgroupPath(id));
      await this.#disks.attach(directory, false);
      const upper = upperDir(directory);
      isFilled = cleanUpper(upper);
      if (isFilled) await moveTree(upper, target);
      await this.#remove(id);
    });
    return isFilled;
  }

  /** Everything that exists of any sandbox: its directory, socket, cgroup or runtime state. Creations under way are left out. */
  list(): FoundSandbox[] {
    const { sandboxesDir, socketsDir, stateDir } = this.#config;
    const names = [
      ...readdirSync(sandboxesDir),
      ...readdirSync(socketsDir).map((name) => name.replace(/\.sock(\.new)?$/, "")),
      ...listChildCgroups(this.#cgroups, this.#cgroupParent),
      ...readdirSync(stateDir).flatMap((runtime) => readdirSync(join(stateDir, runtime))),
    ];
    const ids = [...new Set(names)].filter((name) => ID.test(name) && !this.#inCreation.has(name));
    return ids.map((id) => {
      const directory = this.#sandboxDir(id);
      const hasFiles = hasWritableLayer(directory);
      return { id, isRunning: this.#isRunning(id), hasFiles, layers: hasFiles ? usedLowerDirs(directory) : [] };
    });
  }

  /** Let no process run until {@link thaw}. @throws {@link ServiceBusyError} one cannot be stopped now; nothing was changed. */
  async freeze(id: string): Promise<void> {
    assertId(id);
    await freezeCgroup(this.#cgroups, this.#cgroupPath(id));
  }

  /** Let processes run again; false when there is none. */
  async thaw(id: string): Promise<boolean> {
    assertId(id);
    thawCgroup(this.#cgroups, this.#cgroupPath(id));
    return this.#isRunning(id);
  }

  /** Kill every process and keep the files. */
  async stop(id: string): Promise<void> {
    assertId(id);
    await this.#destroys.run(() => this.#removeRunning(id));
  }

  /** Copy the writable layer to `target` while nothing runs; one that was frozen before stays so. */
  async capture(id: string, target: string): Promise<CapturedLayer> {
    assertId(id);
    const directory = this.#sandboxDir(id);
    const mustFreeze = this.#isRunning(id);
    await this.#disks.attach(directory, hasProcesses(this.#cgroups, this.#cgroupPath(id)));
    const upper = upperDir(directory);
    if (mustFreeze) await freezeCgroup(this.#cgroups, this.#cgroupPath(id));
    try {
      await copyTree(upper, target);
    } finally {
      if (mustFreeze) thawCgroup(this.#cgroups, this.#cgroupPath(id));
    }
    const isFilled = cleanUpper(target);
    if (!isFilled) await removeTree(target);
    const lowerDirs = usedLowerDirs(directory);
    return { layers: isFilled ? [...lowerDirs, target] : lowerDirs, hostIdBase: lstatSync(upper).uid };
  }

  /** What running sandboxes use now. */
  async usage(ids: readonly string[], withDisk: boolean): Promise<Record<string, InstanceUsage>> {
    const upperOf = (id: string) => upperDir(this.#sandboxDir(id));
    if (withDisk) await Promise.all(ids.map((id) => this.#disks.attach(this.#sandboxDir(id), true)));
    const disk = withDisk ? await measureDiskUsage(ids.map(upperOf)) : undefined;
    return Object.fromEntries(
      ids.flatMap((id) => {
        assertId(id);
        const usage = readCgroupUsage(this.#cgroups, this.#cgroupPath(id));
        return usage === undefined ? [] : [[id, { ...usage, diskBytes: disk?.get(upperOf(id)) }]];
      }),
    );
  }

  /** Leave the machine as it was, except for sandboxes. */
  close(): void {
    removeEmptyCgroup(this.#cgroups, this.#cgroupParent);
  }

  async #start(instance: InstanceSpec, runtime: RuntimeProbe, directory: string): Promise<void> {
    const { id, templateDir, limits, mounts = [], isRestart = false } = instance;
    const { socketsDir, stateDir, runtimeDir } = this.#config;
    if (isRestart) await this.#disks.attach(directory, false);
    const { hostIdBase, lowerDirs } = isRestart
      ? { hostIdBase: lstatSync(upperDir(directory)).uid, lowerDirs: usedLowerDirs(directory) }
      : readTemplateLayers(templateDir);
    if (!isRestart) assertMountPlaces(lowerDirs.toReversed(), mounts);
    const isGvisor = runtime.name === GVISOR;
    const guestDir = join(directory, "guest");
    const common = createBundle({
      id,
      idRange: { base: hostIdBase, size: ID_RANGE_SIZE },
      runtimeDir,
      cgroupsPath: this.#cgroupPath(id),
      limits,
      host: this.#host,
      seccomp: this.#seccomp.filter,
      extraMounts: mounts.map(toOciMount),
    });
    const spec = isGvisor ? toGvisorSpec(common, guestDir, true) : common;
    if (isRestart) rewriteSandboxFiles(directory, { runtimeDir, spec });
    else if (limits.diskBytes === undefined || !this.#hasDisks) {
      writeSandboxFiles(directory, { id, lowerDirs, runtimeDir, hostIdBase, spec });
    } else {
      makeSandboxDir(directory, hostIdBase);
      await this.#disks.create(directory, limits.diskBytes);
      writeSandboxFiles(directory, { id, lowerDirs, runtimeDir, hostIdBase, spec, writable: writableDir(directory) });
    }
    if (isGvisor) {
      makeSocketDir(guestDir, hostIdBase);
      await runContainer({ id, runtimePath: runtime.path, stateDir: join(stateDir, runtime.name), bundleDir: directory });
      await claimSocket({ guestDir, directory, path: socketFile(socketsDir, id) }, () => hasProcesses(this.#cgroups, this.#cgroupPath(id)));
      return;
    }
    const socket = await openListeningSocket(socketFile(socketsDir, id));
    try {
      await runContainer({
        id,
        runtimePath: runtime.path,
        stateDir: join(stateDir, runtime.name),
        bundleDir: directory,
        listenFd: socket.fd,
      });
      await socket.release();
    } catch (error) {
      await socket.discard();
      throw error;
    }
  }

  /**
   * Once the processes are gone, a container is only files: of ours, of the runtime and of the cgroup file system. Removing them here
   * saves a start of the runtime, and works for what is left of a container whose runtime was killed half-way.
   */
  async #remove(id: string): Promise<void> {
    await this.#removeRunning(id);
    const directory = this.#sandboxDir(id);
    if (!existsSync(directory)) return;
    await this.#disks.detach(directory);
    await removeTree(directory);
  }

  /** All of a sandbox but its directory. */
  async #removeRunning(id: string): Promise<void> {
    const { socketsDir, stateDir } = this.#config;
    const socket = socketFile(socketsDir, id);
    rmSync(socket, { force: true });
    rmSync(`${socket}.new`, { force: true });
    await destroyCgroup(this.#cgroups, this.#cgroupPath(id));
    for (const runtime of readdirSync(stateDir)) {
      const place = join(stateDir, runtime);
      for (const entry of stateEntries(place, id)) rmSync(join(place, entry), { recursive: true, force: true });
    }
  }

  #isRunning(id: string): boolean {
    return (
      existsSync(this.#sandboxDir(id)) &&
      existsSync(socketFile(this.#config.socketsDir, id)) &&
      hasProcesses(this.#cgroups, this.#cgroupPath(id))
    );
  }

  #sandboxDir(id: string): string {
    return join(this.#config.sandboxesDir, id);
  }

  #cgroupPath(id: string): string {
    return join(this.#cgroupParent, id);
  }

  /** Probes whose process was killed half-way. */
  async #buryProbes(): Promise<void> {
    const { sandboxesDir } = this.#config;
    for (const id of listChildCgroups(this.#cgroups, this.#cgroupParent).filter(isDeadProbe)) {
      await destroyCgroup(this.#cgroups, this.#cgroupPath(id));
    }
    const names = readdirSync(sandboxesDir).filter((name) => isDeadProbe(name.replace(/^\.|-root$/g, "")));
    for (const name of names) await removeTree(join(sandboxesDir, name));
  }

  #probeParts() {
    return {
      ...this.#config,
      cgroupParent: this.#cgroupParent,
      cgroups: this.#cgroups,
      idRange: this.#idRange,
      host: this.#host,
      seccomp: this.#seccomp.filter,
    };
  }
}

function assertId(id: string): void {
  if (!ID.test(id)) throw new InvalidArgumentError(`invalid sandbox id "${id.slice(0, 100)}": expected ${ID.source}`);
}

function toNoRuntimeText(probes: readonly RuntimeProbe[]): string {
  if (probes.length === 0) {
    return 'No OCI runtime (crun or runc) is installed, and sandboxes never run without isolation. Run "abx setup" to install one.';
  }
  const reasons = probes.map(({ name, version, failure }) => `${name} ${version}: ${failure}`);
  return `No OCI runtime of this machine can start a sandbox; "abx doctor" says what is missing, "abx setup" installs it. ${reasons.join("; ")}`;
}
