import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { sendJsonOnSocket } from "../rest/json-answer.js";
import type { SandboxLink } from "../sandbox-link.js";
import type { LiveSandbox } from "../sandbox-table.js";
import type { Sandboxes } from "../sandboxes.js";
import { forwardDownload, isBulkDownload } from "./bulk-download.js";
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

type Dialed = { readonly link: SandboxLink; readonly tunnel: Socket | undefined; readonly appHost?: string | undefined };

/** Carries requests into sandboxes. */
export class EdgeProxy {
  readonly #sandboxes: Sandboxes;

  constructor(sandboxes: Sandboxes) {
    this.#sandboxes = sandboxes;
  }

  async handle(request: IncomingMessage, response: ServerResponse, target: EdgeTarget): Promise<void> {
    const dialed = await this.#dial(request, target);
    if ("status" in dialed) breakOff(response, dialed);
    else if (response.destroyed) dialed.tunnel?.destroy();
    else await pass({ request, response, link: dialed.link, port: target.port, appHost: dialed.appHost }, dialed.tunnel);
  }

  async handleUpgrade(request: IncomingMessage, client: Socket, head: Buffer, target: EdgeTarget): Promise<void> {
    const dialed = await this.#dial(request, target);
    if ("status" in dialed) sendJsonOnSocket(client, dialed.status, dialed.body);
    else if (client.destroyed) dialed.tunnel?.destroy();
    else forwardUpgrade({ request, client, head, link: dialed.link, port: target.port, appHost: dialed.appHost }, dialed.tunnel);
  }

  /** Nothing is awaited on the way to the daemon, whose connections the link keeps. */
  #dial(request: IncomingMessage, { sandboxId, port }: EdgeTarget): Dialed | EdgeAnswer | Promise<Dialed | EdgeAnswer> {
    const live = this.#sandboxes.find(sandboxId);
    return live === undefined ? this.#wake(request, { sandboxId, port }) : dialIn(request, live, port);
  }

  /** A paused sandbox may want to be woken by a request. */
  async #wake(request: IncomingMessage, { sandboxId, port }: EdgeTarget): Promise<Dialed | EdgeAnswer> {
    try {
      const live = await this.#sandboxes.wake(sandboxId);
      return live === undefined ? sandboxNotFound(sandboxId) : await dialIn(request, live, port);
    } catch (error) {
      return couldNotWake(sandboxId, error);
    }
  }
}

function dialIn(request: IncomingMessage, live: LiveSandbox, port: number): Dialed | EdgeAnswer | Promise<Dialed | EdgeAnswer> {
  const { link } = live;
  if (port !== DAEMON_PORT) return isTrafficAllowed(request, live) ? dialPort(live, port) : trafficRefused(link.sandboxId);
  const target = request.url ?? "/";
  return isInternalPath(target) ? internalPath(target) : { link, tunnel: undefined };
}

async function pass(exchange: Exchange, tunnel: Socket | undefined): Promise<void> {
  if (tunnel === undefined && isBulkDownload(exchange.request)) await forwardDownload(exchange);
  else if (tunnel === undefined && isBulkStream(exchange)) await forwardStream(exchange);
  else forward(exchange, tunnel);
}

/** The daemon tries a closed port for half a second before it gives up, so a server that was started a moment ago is reached. */
async function dialPort({ link, network }: LiveSandbox, port: number): Promise<Dialed | EdgeAnswer> {
  try {
    const tunnel = await link.openPort(port);
    if (tunnel === undefined) return portNotOpen(link.sandboxId, port);
    const isTls = network.httpsPorts?.includes(port) === true;
    return { link, tunnel: isTls ? openTls(tunnel) : tunnel, appHost: toAppHost(network, port) };
  } catch {
    // The daemon itself cannot be reached; its lifeline finds out whether it is dead.
    return sandboxNotFound(link.sandboxId);
  }
}
