import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";

export interface ForwarderOptions {
  /** Port on the loopback interface; 0 lets the system choose. */
  readonly httpPort: number;
  /** The same for SOCKS5. Both ports take both protocols, since the platform tells them apart. */
  readonly socksPort: number;
}

/** Connections of the guest at a time, also those that say nothing. */
const MAX_CONNECTIONS = 1024;
/** How long a connection may stay silent at its beginning. */
const FIRST_BYTE_TIMEOUT_MS = 60_000;
/** How long a connection waits for the platform to open another channel. */
const CHANNEL_TIMEOUT_MS = 30_000;
/** Silence of a guest after which a connection that the other side has ended is given up. */
const LINGER_MS = 60_000;

interface Waiting {
  readonly client: Socket;
  readonly firstBytes: Buffer;
}

/**
 * The way out of the sandbox: takes connections of proxy clients on the loopback interface and sends each, byte for byte, over one of the
 * channels that the platform keeps open into the daemon. The platform speaks the proxy protocols and decides; nothing is decided here.
 *
 * A connection uses up a channel only once it has said something, so silent ones cost the platform nothing.
 */
export class Forwarder {
  readonly #channels = new Set<Duplex>();
  readonly #waiting: Waiting[] = [];
  readonly #carrying = new Set<Duplex>();
  readonly #onFailure: (text: string) => void;
  #servers: Server[] = [];

  constructor(onFailure: (text: string) => void) {
    this.#onFailure = onFailure;
  }

  get isListening(): boolean {
    return this.#servers.length > 0;
  }

  /** Ports that are listened on, in the order of the options. */
  get ports(): readonly number[] {
    return this.#servers.map((server) => {
      const address = server.address();
      return typeof address === "object" && address !== null ? address.port : 0;
    });
  }

  /** Listen; does nothing when it does already. */
  listen({ httpPort, socksPort }: ForwarderOptions): void {
    if (this.isListening) return;
    this.#servers = [httpPort, socksPort].map((port) => {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#onConnection(client));
      server.maxConnections = MAX_CONNECTIONS;
      server.on("error", (error) => this.#onFailure(`the egress forwarder cannot listen on port ${port}: ${error.message}`));
      server.listen(port, "127.0.0.1");
      return server;
    });
  }

  /** Stop listening and cut everything. */
  close(): void {
    for (const server of this.#servers.splice(0)) server.close();
    for (const { client } of this.#waiting.splice(0)) client.destroy();
    for (const channel of [...this.#channels, ...this.#carrying]) channel.destroy();
  }

  /** Take a channel of the platform. */
  addChannel(channel: Duplex): void {
    channel.allowHalfOpen = true;
    this.#channels.add(channel);
    const forget = () => {
      this.#channels.delete(channel);
      channel.destroy();
    };
    channel.on("error", forget).once("close", forget);
    // The platform says nothing before the guest does, so the end is all there can be to read.
    channel.once("end", () => {
      if (this.#channels.has(channel)) forget();
    });
    channel.once("readable", () => {
      if (this.#channels.has(channel)) channel.read();
    });
    this.#match();
  }

  #onConnection(client: Socket): void {
    client.on("error", () => client.destroy());
    client.setTimeout(FIRST_BYTE_TIMEOUT_MS, () => client.destroy());
    const onReadable = () => {
      const firstBytes: Buffer | null = client.read();
      if (firstBytes === null) {
        if (client.readableEnded) client.destroy();
        return;
      }
      client.off("readable", onReadable).off("end", onEnd);
      client.setTimeout(CHANNEL_TIMEOUT_MS);
      this.#waiting.push({ client, firstBytes });
      this.#match();
    };
    const onEnd = () => client.destroy();
    client.on("readable", onReadable).once("end", onEnd);
  }

  #match(): void {
    while (this.#waiting.length > 0) {
      const [channel] = this.#channels;
      if (channel === undefined) return;
      const next = this.#waiting.shift();
      if (next === undefined || next.client.destroyed) continue;
      this.#channels.delete(channel);
      this.#carrying.add(channel);
      channel.once("close", () => this.#carrying.delete(channel));
      carry(next, channel);
    }
  }
}

function carry({ client, firstBytes }: Waiting, channel: Duplex): void {
  client.setTimeout(0);
  channel.write(firstBytes);
  client.pipe(channel);
  channel.pipe(client);
  // A connection that the platform cut looks like one whose remote side has finished speaking.
  channel.once("end", () => client.setTimeout(LINGER_MS, () => client.destroy()));
  client.once("close", () => channel.destroy());
  // What was received before the end still goes out.
  channel.once("close", () => client.destroySoon());
}
