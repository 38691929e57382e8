import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { connect } from "node:tls";
import { isSameSecret } from "../../shared/same-secret-node.js";
import type { NetworkConfig } from "../egress/network-config.js";
import type { LiveSandbox } from "../sandbox-table.js";

/** Header with the token for ports that are not public. */
export const TRAFFIC_TOKEN_HEADER = "e2b-traffic-access-token";

/** What stands for the port in `maskRequestHost`. */
const PORT_PLACEHOLDER = /\$\{PORT\}/g;

/** True when a request may reach the ports of a sandbox: they are public, or it carries the token. */
export function isTrafficAllowed(request: IncomingMessage, { trafficAccessToken }: LiveSandbox): boolean {
  if (trafficAccessToken === undefined) return true;
  const presented = request.headers[TRAFFIC_TOKEN_HEADER];
  return typeof presented === "string" && isSameSecret(presented, trafficAccessToken);
}

/** Host header for the program behind a port; `undefined` when it sees the real one. */
export function toAppHost({ maskRequestHost }: NetworkConfig, port: number): string | undefined {
  return maskRequestHost?.replaceAll(PORT_PLACEHOLDER, String(port));
}

/** Speak TLS to a program inside. Its certificate says nothing: the tunnel leads to this sandbox and nowhere else. */
export function openTls(tunnel: Socket): Socket {
  return connect({ socket: tunnel, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
}
