import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendJsonOnSocket } from "../rest/json-answer.js";
import type { SandboxLink } from "../sandbox-link.js";
import type { LiveSandbox } from "../sandbox-table.js";
import type { Sandboxes } from "../sandboxes.js";
import type { BulkConnection } from "./bulk-connection.js";
import { forwardDownload, isBulkDownload } from "./bulk-download.js";
import { forwardPort, isBulkRequest } from "./bulk-port.js";
import { forwardStream, isBulkStream } from "./bulk-stream.js";
import { couldNotWake, type EdgeAnswer, internalPath, portNotOpen, sandboxNotFound, trafficRefused } from "./edge-answer.js";
import { breakOff, type Exchange, forward } from "./forward.js";
import { isInternalPath } from "./internal-paths.js";
import { isTrafficAllowed, openTls, toAppHost } from "./port-access.js";
import { DAEMON_PORT } from "./route.js";
import { forwardUpgrade } from "./upgrade.js";

/** A place inside a sandbox. */
export interface EdgeTarget {
  readonly sandboxId: string;
  readonly port: number;
}

/** A way to the target: a tunnel to its port, one for a large answer, or neither for the daemon. */
interface Dialed {
  readonly link: SandboxLink;
  readonly tunnel?: Socket;
  readonly bulk?: BulkConnection;
  readonly appHost?: string | undefined;
}

/** Carries requests into sandboxes. */
export class EdgeProxy {
  readonly #sandboxes: Sandboxes;

  constructor(sandboxes: Sandboxes) {
    this.#sandboxes = sandboxes;
  }

  async handle(request: IncomingMessage, response: ServerResponse, target: EdgeTarget): Promise<void> {
    // With pipelined requests the connection to the client may still belong to an earlier answer.
    const dialed = await this.#dial(request, target, response.socket !== null && isBulkRequest(request));
    if ("status" in dialed) breakOff(response, dialed);
    else if (response.destroyed) (dialed.tunnel ?? dialed.bulk)?.destroy();
    else await pass({ request, response, link: dialed.link, port: target.port, appHost: dialed.appHost }, dialed);
  }

  async handleUpgrade(request: IncomingMessage, client: Socket, head: Buffer, target: EdgeTarget): Promise<void> {
    const dialed = await this.#dial(request, target, false);
    if ("status" in dialed) sendJsonOnSocket(client, dialed.status, dialed.body);
    else if (client.destroyed) dialed.tunnel?.destroy();
    else forwardUpgrade({ request, client, head, link: dialed.link, port: target.port, appHost: dialed.appHost }, dialed.tunnel);
  }

  /** Nothing is awaited on the way to the daemon, whose connections the link keeps. */
  #dial(request: IncomingMessage, { sandboxId, port }: EdgeTarget, isBulk: boolean): Dialed | EdgeAnswer | Promise<Dialed | EdgeAnswer> {
    const live = this.#sandboxes.find(sandboxId);
    return live === undefined ? this.#wake(request, { sandboxId, port }, isBulk) : dialIn(request, live, port, isBulk);
  }

  /** A paused sandbox may want to be woken by a request. */
  async #wake(request: IncomingMessage, { sandboxId, port }: EdgeTarget, isBulk: boolean): Promise<Dialed | EdgeAnswer> {
    try {
      const live = await this.#sandboxes.wake(sandboxId);
      return live === undefined ? sandboxNotFound(sandboxId) : await dialIn(request, live, port, isBulk);
    } catch (error) {
      return couldNotWake(sandboxId, error);
    }
  }
}

/** @param isBulk the answer of a port may take the way of large ones */
function dialIn(
  request: IncomingMessage,
  live: LiveSandbox,
  port: number,
  isBulk: boolean,
): Dialed | EdgeAnswer | Promise<Dialed | EdgeAnswer> {
  const { link } = live;
  if (port !== DAEMON_PORT) return isTrafficAllowed(request, live) ? dialPort(live, port, isBulk) : trafficRefused(link.sandboxId);
  const target = request.url ?? "/";
  return isInternalPath(target) ? internalPath(target) : { link };
}

async function pass(exchange: Exchange, { tunnel, bulk }: Dialed): Promise<void> {
  if (bulk !== undefined) forwardPort(exchange, bulk);
  else if (tunnel === undefined && isBulkDownload(exchange.request)) await forwardDownload(exchange);
  else if (tunnel === undefined && isBulkStream(exchange)) await forwardStream(exchange);
  else forward(exchange, tunnel);
}

/** The daemon tries a closed port for half a second before it gives up, so a server that was started a moment ago is reached. */
async function dialPort({ link, network }: LiveSandbox, port: number, isBulk: boolean): Promise<Dialed | EdgeAnswer> {
  const isTls = network.httpsPorts?.includes(port) === true;
  const appHost = toAppHost(network, port);
  try {
    if (!isTls && isBulk) {
      const bulk = await link.openPortForBulk(port);
      return bulk === undefined ? portNotOpen(link.sandboxId, port) : { link, bulk, appHost };
    }
    const tunnel = await link.openPort(port);
    if (tunnel === undefined) return portNotOpen(link.sandboxId, port);
    return { link, tunnel: isTls ? openTls(tunnel) : tunnel, appHost };
  } catch {
    // The daemon itself cannot be reached; its lifeline finds out whether it is dead.
    return sandboxNotFound(link.sandboxId);
  }
}
