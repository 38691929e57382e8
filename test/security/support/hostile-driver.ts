import { rmSync } from "node:fs";
import { connect, createServer, type IpcNetConnectOpts, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { Instance, InstanceSpec } from "../../../src/control/drivers/driver.js";
import { ProcessDriver } from "../../control/support/process-driver.js";

/** What a daemon in the hands of a guest does with a request: writes whatever it likes to the raw connection. */
export type Behaviour = (socket: Socket, head: string) => void;

const OK = "HTTP/1.1 204 No Content\r\n\r\n";

/** A driver whose "daemons" answer set-up and health as they should, and everything else as the test says. */
export class HostileDriver extends ProcessDriver {
  readonly #place: string;
  readonly #servers = new Map<string, Server>();
  readonly #sockets = new Set<Socket>();
  /** For requests of clients and tunnels. */
  behaviour: Behaviour = (socket) => socket.destroy();
  /** Replaces the answer to the set-up. */
  initBehaviour: Behaviour | undefined;
  /** Replaces the answer to health checks. */
  healthBehaviour: Behaviour | undefined;
  connections = 0;
  #cutsIdle = false;

  constructor(place: string) {
    super(place);
    this.#place = place;
  }

  override async open(): ReturnType<ProcessDriver["open"]> {
    const limits = { memory: false, cpu: false, pids: false, disk: false };
    return { pause: false, snapshot: false, checkpointMemory: false, limits };
  }

  override async create({ id }: InstanceSpec): Promise<Instance> {
    const path = join(this.#place, `${id}.sock`);
    const server = createServer((socket) => this.#serve(socket));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    this.#servers.set(id, server);
    const unserved = () => Promise.reject(new Error("not served"));
    return {
      id,
      connect: (options) => open({ path, ...options }),
      destroy: () => this.#close(id, path),
      harvest: unserved,
      freeze: unserved,
      thaw: unserved,
      stop: unserved,
      capture: unserved,
    };
  }

  override async list(): ReturnType<ProcessDriver["list"]> {
    return [];
  }

  /** From now on end every connection on which no request is answered, at once. */
  cutIdle(): void {
    this.#cutsIdle = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Undo {@link cutIdle}. */
  keepIdle(): void {
    this.#cutsIdle = false;
  }

  /** End every daemon. */
  closeAll(): void {
    for (const server of this.#servers.values()) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
    if (this.#cutsIdle) setTimeout(() => socket.destroy(), 2);
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = text.slice(0, end);
      text = "";
      if (head.startsWith("POST /init ")) answer(this.initBehaviour, socket, head);
      else if (head.startsWith("GET /health ")) answer(this.healthBehaviour, socket, head);
      else this.behaviour(socket, head);
    });
  }

  async #close(id: string, path: string): Promise<void> {
    this.#servers.get(id)?.close();
    this.#servers.delete(id);
    rmSync(path, { force: true });
  }
}

function answer(behaviour: Behaviour | undefined, socket: Socket, head: string): void {
  if (behaviour === undefined) socket.write(OK);
  else behaviour(socket, head);
}

function open(options: IpcNetConnectOpts): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(options);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
    socket.once("error", reject);
  });
}
