import type * as http from "node:http";
import type * as https from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import { ConnectionError } from "../errors/error-classes.js";

type OnSocket = (error: Error | null, socket?: Duplex) => void;

/** Agents whose every connection is a CONNECT tunnel through the proxy, for http targets too, so nothing goes out directly. */
export function createProxyAgents(proxy: string, options: http.AgentOptions): { http: http.Agent; https: https.Agent } {
  const proxyUrl = new URL(proxy);
  const [http, https] = [process.getBuiltinModule("node:http"), process.getBuiltinModule("node:https")];
  const [net, tls] = [process.getBuiltinModule("node:net"), process.getBuiltinModule("node:tls")];
  const plain = new http.Agent(options);
  plain.createConnection = (target, onSocket) => {
    openTunnel(proxyUrl, target.host ?? "localhost", Number(target.port ?? 80)).then(
      (socket) => (onSocket as OnSocket)(null, socket),
      (error: Error) => (onSocket as OnSocket)(error),
    );
    return undefined;
  };
  const secure = new https.Agent(options);
  secure.createConnection = (target, onSocket) => {
    openTunnel(proxyUrl, target.host ?? "localhost", Number(target.port ?? 443)).then(
      (socket) => {
        const { host } = target;
        const name = typeof host === "string" && net.isIP(host) === 0 ? { servername: host } : {};
        const secured = tls.connect({ ...name, ...target, socket, path: undefined } as ConnectionOptions);
        (onSocket as OnSocket)(null, secured);
      },
      (error: Error) => (onSocket as OnSocket)(error),
    );
    return undefined;
  };
  return { http: plain, https: secure };
}

function openTunnel(proxy: URL, host: string, port: number): Promise<Socket> {
  const authority = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  const headers: Record<string, string> = { host: authority };
  if (proxy.username !== "") {
    const credentials = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    headers["proxy-authorization"] = `Basic ${Buffer.from(credentials).toString("base64")}`;
  }
  return new Promise((resolve, reject) => {
    const isTls = proxy.protocol === "https:";
    const { request: send } = process.getBuiltinModule(isTls ? "node:https" : "node:http");
    const request = send({
      hostname: proxy.hostname,
      port: proxy.port || (isTls ? 443 : 80),
      method: "CONNECT",
      path: authority,
      headers,
      agent: false,
    });
    request.once("connect", (response, socket, head) => {
      if (response.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new ConnectionError(`the proxy ${proxy.host} refused the tunnel to ${authority} with status ${response.statusCode}`));
    });
    request.once("error", (cause) => reject(new ConnectionError(`the proxy ${proxy.host} cannot be reached`, { cause })));
    request.end();
  });
}
