import type { Socket } from "node:net";
import { type EgressGateway, noteFailure } from "./egress-gateway.js";
import type { EgressTimeouts } from "./http-limits.js";
import { type InterceptionServer, intercept } from "./interception.js";
import { joinSockets } from "./join-sockets.js";
import { answerSocks, readSocksRequest, SOCKS_REPLY } from "./socks-server.js";

/** First byte of every SOCKS5 connection; no HTTP method begins with it. */
export const SOCKS_FIRST_BYTE = 5;

const TLS_PORT = 443;

/** Serve the SOCKS5 protocol on a channel of a sandbox. */
export async function serveSocks(
  channel: Socket,
  gateway: EgressGateway,
  interception: InterceptionServer,
  { headMs, idleMs }: EgressTimeouts,
): Promise<void> {
  const timer = setTimeout(() => channel.destroy(), headMs).unref();
  channel.once("close", () => clearTimeout(timer));
  const destination = await readSocksRequest(channel).catch(() => channel.destroy());
  clearTimeout(timer);
  if (destination === undefined || "destroyed" in destination) return;
  const entry = gateway.log.begin("socks5", destination);
  try {
    const headers = destination.port === TLS_PORT ? gateway.headerRules.find(destination.host) : undefined;
    if (headers !== undefined) {
      const { reason } = await gateway.authorize(destination, "tunnel");
      Object.assign(entry, { decision: "allowed", reason });
      answerSocks(channel, SOCKS_REPLY.succeeded);
      intercept({ channel, gateway, destination, headers, entry }, interception);
      return;
    }
    const { socket, address, reason } = await gateway.connect(destination, "tunnel");
    Object.assign(entry, { decision: "allowed", reason }, address === undefined ? {} : { address });
    answerSocks(channel, SOCKS_REPLY.succeeded);
    joinSockets(channel, socket, idleMs, (sent, received) => {
      Object.assign(entry, { bytesSent: sent, bytesReceived: received, durationMs: Date.now() - entry.at.getTime() });
    });
  } catch (error) {
    answerSocks(channel, noteFailure(entry, error) === 403 ? SOCKS_REPLY.notAllowed : SOCKS_REPLY.unreachable);
    channel.destroySoon();
  }
}
