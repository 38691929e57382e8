import { Agent } from "node:http";
import type { OnReadOpts, Socket } from "node:net";
import { ConnectionError } from "../errors/error-classes.js";
import { connectBy } from "./connect-by.js";
import type { Instance } from "./drivers/driver.js";
import { BulkConnection } from "./edge/bulk-connection.js";
import { openBulkPort } from "./edge/bulk-port.js";
import { openTunnel } from "./edge/tunnel.js";

/** Idle connections to one daemon that are kept for the next requests. */
const MAX_IDLE_CONNECTIONS = 16;
/** Idle connections for large answers; each holds a buffer. */
const MAX_IDLE_BULK_CONNECTIONS = 8;

/** The way into one sandbox, and everything that is under way through it. */
export class SandboxLink {
  readonly sandboxId: string;
  /** Connections to the daemon, kept alive between requests. */
  readonly agent: Agent;
  readonly #instance: Instance;
  readonly #exchanges = new Set<() => void>();
  readonly #idleBulk: BulkConnection[] = [];
  #isSevered = false;

  constructor(instance: Instance) {
    this.sandboxId = instance.id;
    this.#instance = instance;
    this.agent = createDaemonAgent(() => this.#connect());
  }

  get isSevered(): boolean {
    return this.#isSevered;
  }

  /** Open a raw connection to a port inside; `undefined` when nothing listens there. */
  async openPort(port: number): Promise<Socket | undefined> {
    return openTunnel(await this.#connect(), "localhost", port);
  }

  /** As {@link openPort}, for one request whose answer may be large. */
  async openPortForBulk(port: number): Promise<BulkConnection | undefined> {
    const connection = await BulkConnection.open((onread) => this.#connect(onread));
    return (await openBulkPort(connection, port)) ? connection : undefined;
  }

  /** Open a connection on which the daemon tells its own faults; `undefined` when it tells none. */
  async openComplaints(): Promise<Socket | undefined> {
    return openTunnel(await this.#connect(), "complaints", 0);
  }

  /** Open a connection on which the daemon sends what a guest wants outside; `undefined` when it sends nothing. */
  async openEgressChannel(): Promise<Socket | undefined> {
    return openTunnel(await this.#connect(), "egress", 0);
  }

  /** A connection for a large answer; give it back with {@link returnBulkConnection} or destroy it. */
  async takeBulkConnection(): Promise<BulkConnection> {
    for (let idle = this.#idleBulk.pop(); idle !== undefined; idle = this.#idleBulk.pop()) if (idle.isOpen) return idle;
    return BulkConnection.open((onread) => this.#connect(onread));
  }

  returnBulkConnection(connection: BulkConnection): void {
    if (!this.#isSevered && connection.isOpen && this.#idleBulk.length < MAX_IDLE_BULK_CONNECTIONS) this.#idleBulk.push(connection);
    else connection.destroy();
  }

  /** Register what {@link sever} breaks; the returned function takes it out again. */
  onSever(breakExchange: () => void): () => void {
    this.#exchanges.add(breakExchange);
    return () => this.#exchanges.delete(breakExchange);
  }

  /** Break everything under way, abruptly, and let nothing new through. */
  sever(): void {
    this.#isSevered = true;
    const exchanges = [...this.#exchanges];
    this.#exchanges.clear();
    for (const breakExchange of exchanges) breakExchange();
    this.agent.destroy();
    for (const connection of this.#idleBulk.splice(0)) connection.destroy();
  }

  async #connect(onread?: OnReadOpts): Promise<Socket> {
    if (this.#isSevered) throw new ConnectionError(`sandbox "${this.sandboxId}" is gone`, { sandboxId: this.sandboxId });
    return this.#instance.connect(onread === undefined ? {} : { onread });
  }
}

function createDaemonAgent(connect: () => Promise<Socket>): Agent {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_IDLE_CONNECTIONS, scheduling: "lifo" });
  connectBy(agent, connect);
  return agent;
}
