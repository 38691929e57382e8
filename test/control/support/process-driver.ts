import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { connect, type IpcNetConnectOpts, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Driver, DriverCapabilities, Instance, InstanceSpec, IsolationReport } from "../../../src/control/drivers/driver.js";
import { ConnectionError } from "../../../src/errors/error-classes.js";

const DAEMON = fileURLToPath(new URL("../../../dist/daemon/daemon.mjs", import.meta.url));
const NO_LIMITS = { memory: false, cpu: false, pids: false, disk: false };

/**
 * Runs the real daemon as a plain process of this machine, WITHOUT isolation: only to test what stands around it.
 *
 * Instances outlive the driver, as containers do: a second driver with the same directory finds them.
 */
export class ProcessDriver implements Driver {
  readonly name = "process";
  readonly #directory: string;
  readonly #children: Map<string, ChildProcess>;
  /** Awaited by every creation before it starts a process; replace it to hold or fail creations. */
  beforeCreate: (spec: InstanceSpec) => Promise<void> = async () => {};
  /** Awaited by every freeze, when the processes stand still. */
  afterFreeze: () => Promise<void> = async () => {};
  created = 0;
  /** Told of every instance. */
  oomKills = 0;

  /** @param children shared between drivers that stand for successive platforms */
  constructor(directory: string, children = new Map<string, ChildProcess>()) {
    this.#directory = directory;
    this.#children = children;
  }

  async open(): Promise<DriverCapabilities> {
    if (!existsSync(DAEMON)) throw new Error(`${DAEMON} does not exist; run npm run build`);
    return { pause: true, snapshot: true, checkpointMemory: false, limits: NO_LIMITS };
  }

  async create(spec: InstanceSpec): Promise<Instance> {
    await this.beforeCreate(spec);
    this.created++;
    const socket = this.#socketOf(spec.id);
    const child = spawn(process.execPath, [DAEMON, "--socket", socket], { stdio: ["ignore", "ignore", "inherit"], detached: true });
    this.#children.set(spec.id, child);
    const instance = this.#toInstance(spec.id);
    while (child.exitCode === null && !(await isListening(instance))) await sleep(5);
    return instance;
  }

  async list() {
    return [...this.#children].map(([id, child]) => ({
      instance: this.#toInstance(id),
      isRunning: child.exitCode === null && child.signalCode === null,
      hasFiles: true,
      layers: [],
    }));
  }

  async usage(ids: readonly string[]) {
    const usage = { cpuSeconds: 0, memoryBytes: 2 ** 33, cacheBytes: 0, diskBytes: 4096, oomKills: this.oomKills };
    return new Map(ids.filter((id) => this.#children.has(id)).map((id) => [id, usage]));
  }

  isolation(): IsolationReport {
    throw new Error("a plain process has no isolation");
  }

  async close(): Promise<void> {}

  /** Pid of the daemon of an instance. */
  pidOf(id: string): number {
    const pid = this.#children.get(id)?.pid;
    if (pid === undefined) throw new Error(`no instance ${id}`);
    return pid;
  }

  /** Ids of all instances that are left. */
  ids(): string[] {
    return [...this.#children.keys()];
  }

  #toInstance(id: string): Instance {
    return {
      id,
      connect: (options) => openSocket({ path: this.#socketOf(id), ...options }),
      destroy: () => this.#destroy(id),
      harvest: () => Promise.reject(new Error("a plain process has no layer of its own")),
      freeze: async () => {
        this.#signal(id, "SIGSTOP");
        await this.afterFreeze();
      },
      thaw: async () => {
        this.#signal(id, "SIGCONT");
        return this.#isRunning(id);
      },
      stop: () => this.#end(id),
      async capture(target) {
        mkdirSync(target);
        return { layers: [target], hostIdBase: 0 };
      },
    };
  }

  #isRunning(id: string): boolean {
    const child = this.#children.get(id);
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  #signal(id: string, signal: NodeJS.Signals): void {
    if (this.#isRunning(id)) this.#children.get(id)?.kill(signal);
  }

  async #end(id: string): Promise<void> {
    const child = this.#children.get(id);
    if (child !== undefined && this.#isRunning(id)) {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
    rmSync(this.#socketOf(id), { force: true });
  }

  async #destroy(id: string): Promise<void> {
    await this.#end(id);
    this.#children.delete(id);
  }

  #socketOf(id: string): string {
    return join(this.#directory, `${id}.sock`);
  }
}

async function isListening(instance: Instance): Promise<boolean> {
  return instance.connect().then(
    (socket) => {
      socket.destroy();
      return true;
    },
    () => false,
  );
}

function openSocket(options: IpcNetConnectOpts): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", (cause) => reject(new ConnectionError(`nothing answers on ${options.path}`, { cause })));
  });
}
