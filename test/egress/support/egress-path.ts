import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Instance } from "../../../src/control/drivers/driver.js";
import { EgressService, type EgressServiceParts } from "../../../src/control/egress/egress-service.js";
import { HostProxies } from "../../../src/control/egress/host-proxy.js";
import type { EgressConfig } from "../../../src/control/egress/network-config.js";
import { SandboxLink } from "../../../src/control/sandbox-link.js";
import { createDaemon, type Daemon } from "../../../src/daemon/server.js";

/** A daemon and the platform's side of its way out, in this process. */
export interface EgressPath {
  readonly service: EgressService;
  readonly daemon: Daemon;
  readonly link: SandboxLink;
  /** Directory that stands for `/` of the guest. */
  readonly root: string;
  readonly httpPort: number;
  readonly socksPort: number;
  /** Put other rules in place, as the platform does. */
  update(config: EgressConfig): void;
  stop(): Promise<void>;
}

/** Open the way out under `config`; addresses of this machine are loopback only unless `parts` says otherwise. */
export async function openEgressPath(config: EgressConfig, parts: Partial<EgressServiceParts> = {}): Promise<EgressPath> {
  const root = mkdtempSync(join(tmpdir(), "abx-egress-"));
  for (const directory of ["etc/apt/apt.conf.d", "etc/sudoers.d", "run"]) mkdirSync(join(root, directory), { recursive: true });
  const [httpPort, socksPort] = [await freePort(), await freePort()];
  const daemon = createDaemon({ egress: { httpPort, socksPort, root }, factsDirectory: join(root, "run/facts") });
  const socketPath = join(root, "daemon.sock");
  daemon.server.listen(socketPath);
  await once(daemon.server, "listening");

  const service = new EgressService({
    hostProxies: new HostProxies({}),
    ownAddresses: () => [],
    platformSecret: Buffer.alloc(32, 7),
    readSecret: () => undefined,
    extraAuthorities: [],
    ...parts,
  });
  const instance: Instance = {
    id: "itest",
    connect: () => openSocket(socketPath),
    destroy: async () => undefined,
    harvest: async () => false,
    freeze: async () => undefined,
    thaw: async () => true,
    stop: async () => undefined,
    capture: async () => ({ layers: [], hostIdBase: 0 }),
  };
  const link = new SandboxLink(instance);
  const tell = (next: EgressConfig) => daemon.state.egress?.configure(service.setupFor("itest", next));
  tell(config);
  service.open(link, config);
  await untilListening(httpPort);
  return {
    service,
    daemon,
    link,
    root,
    httpPort,
    socksPort,
    update(next) {
      service.update("itest", next);
      tell(next);
    },
    async stop() {
      link.sever();
      await daemon.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Open a TCP connection on loopback or a unix socket. */
export async function openSocket(target: string | number): Promise<Socket> {
  const socket = typeof target === "string" ? connect(target) : connect({ port: target, host: "127.0.0.1", allowHalfOpen: true });
  await once(socket, "connect");
  return socket;
}

/** A server on an address of the loopback network. */
export async function listenOn(server: Server, host = "127.0.0.1", port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Everything that a connection says until it ends. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.on("end", () => socket.end());
  if (!socket.closed) await once(socket, "close");
  return Buffer.concat(chunks).toString("latin1");
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server);
  server.close();
  await once(server, "close");
  return port;
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    const isOpen = await openSocket(port).then(
      (socket) => socket.destroy() !== undefined,
      () => false,
    );
    if (isOpen) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
