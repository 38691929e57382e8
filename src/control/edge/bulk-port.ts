import type { IncomingMessage } from "node:http";
import { BulkAnswer } from "./bulk-answer.js";
import type { BulkConnection } from "./bulk-connection.js";
import { brokenUpstream } from "./edge-answer.js";
import { breakOff, type Exchange, forward } from "./forward.js";
import { ReplaySocket } from "./replay-socket.js";

/** A daemon gives a closed port up after half a second; this one only bounds what a broken daemon can hold. */
const ANSWER_TIMEOUT_MS = 10_000;
const MAX_HEAD_BYTES = 64 * 1024;
const HEAD_END = "\r\n\r\n";
const ESTABLISHED = /^HTTP\/1\.1 200 /;

/** True for a request to a port whose answer may be large and which can be sent as it is, without a body. */
export function isBulkRequest({ method, headers, httpVersion }: IncomingMessage): boolean {
  const hasMore = ["content-length", "transfer-encoding", "upgrade", "expect"].some((name) => headers[name] !== undefined);
  return method === "GET" && httpVersion === "1.1" && !hasMore;
}

/**
 * Turn a fresh connection to a daemon into one to a port of its sandbox. False when nothing listens there; the connection is gone then.
 *
 * @throws Error the connection ended before the daemon answered.
 */
export function openBulkPort(connection: BulkConnection, port: number): Promise<boolean> {
  const authority = `localhost:${port}`;
  let head = "";
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(() => reject(new Error("the daemon did not answer a request for a port"))), ANSWER_TIMEOUT_MS);
    const settle = (how: () => void) => {
      clearTimeout(timer);
      connection.release();
      how();
    };
    const onBytes = (bytes: Buffer): boolean => {
      head += bytes.toString("latin1");
      const end = head.indexOf(HEAD_END);
      if (end < 0 && head.length <= MAX_HEAD_BYTES) return true;
      // Nothing may come behind the head: the program behind the port has not been asked yet.
      const isOpen = ESTABLISHED.test(head) && end + HEAD_END.length === head.length;
      settle(() => resolve(isOpen));
      if (!isOpen) connection.destroy();
      return isOpen;
    };
    const onEnd = () => settle(() => reject(new Error("the daemon ended the connection before it answered")));
    connection.send(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`, Buffer.alloc(0), { onBytes, onEnd });
  });
}

/** Pass the answer of a port to the client: one of known length without a copy of our own, any other in the general way. */
export function forwardPort(exchange: Exchange, connection: BulkConnection): void {
  const { response, link, port } = exchange;
  if (response.socket === null) {
    connection.destroy();
    breakOff(response, brokenUpstream(link.sandboxId, port));
    return;
  }
  // The request must not be sent twice, so the general way gets the connection with what came on it.
  const goOn = (used: BulkConnection, received: Buffer) => forward(exchange, new ReplaySocket(used, received));
  new BulkAnswer(exchange, connection, response.socket, goOn).start(Buffer.alloc(0));
}
