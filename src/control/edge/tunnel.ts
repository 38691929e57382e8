import { request } from "node:http";
import type { Socket } from "node:net";

/** A daemon gives a closed port up after half a second; this one only bounds what a broken daemon can hold. */
const ANSWER_TIMEOUT_MS = 10_000;

/**
 * Turn a fresh connection to a daemon into a raw one to `host:port` inside its sandbox.
 *
 * `undefined` when the daemon says that nothing listens there.
 *
 * @throws Error the connection ended before the daemon answered.
 */
export function openTunnel(daemon: Socket, host: string, port: number): Promise<Socket | undefined> {
  const authority = `${host}:${port}`;
  return new Promise((resolve, reject) => {
    const connect = request({ method: "CONNECT", path: authority, headers: { host: authority }, createConnection: () => daemon });
    connect.on("connect", (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        resolve(undefined);
        return;
      }
      socket.setTimeout(0);
      // A server that speaks first may have sent bytes behind the answer.
      if (head.length > 0) socket.unshift(head);
      resolve(daemon);
    });
    connect.on("error", (error) => {
      daemon.destroy();
      reject(error);
    });
    connect.setTimeout(ANSWER_TIMEOUT_MS, () => connect.destroy(new Error("the daemon did not answer a request for a port")));
    connect.end();
  });
}
