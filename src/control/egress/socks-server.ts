import type { Socket } from "node:net";
import { ByteReader } from "./byte-reader.js";
import { toHostName } from "./host-name.js";
import type { Destination } from "./network-policy.js";

/** Answers of a SOCKS5 server, RFC 1928 section 6. */
export const SOCKS_REPLY = { succeeded: 0, failed: 1, notAllowed: 2, unreachable: 4, noSuchCommand: 7, noSuchAddress: 8 } as const;

const VERSION = 5;

/**
 * Read the request of a SOCKS5 client: CONNECT without authentication. `undefined` when it asked for anything else, which it was told.
 *
 * @throws {@link ConnectionError} it left in the middle.
 */
export async function readSocksRequest(socket: Socket): Promise<Destination | undefined> {
  const reader = new ByteReader(socket);
  const [version, count = 0] = await reader.read(2);
  if (version !== VERSION) {
    socket.destroySoon();
    return undefined;
  }
  const methods = await reader.read(count);
  if (!methods.includes(0)) {
    socket.write(Buffer.from([VERSION, 0xff]));
    socket.destroySoon();
    return undefined;
  }
  socket.write(Buffer.from([VERSION, 0]));
  const [, command, , type] = await reader.read(4);
  const host = await readHost(reader, type);
  const port = host === undefined ? 0 : (await reader.read(2)).readUInt16BE();
  reader.release();
  if (command !== 1) return refuse(socket, SOCKS_REPLY.noSuchCommand);
  if (host === undefined || port === 0) return refuse(socket, SOCKS_REPLY.noSuchAddress);
  return { host, port };
}

/** Tell the client how its request ended. */
export function answerSocks(socket: Socket, reply: number): void {
  if (socket.writable) socket.write(Buffer.from([VERSION, reply, 0, 1, 0, 0, 0, 0, 0, 0]));
}

async function readHost(reader: ByteReader, type: number | undefined): Promise<string | undefined> {
  if (type === 1) return [...(await reader.read(4))].join(".");
  if (type === 4) return (await reader.read(16)).toString("hex").replace(/(.{4})(?!$)/g, "$1:");
  if (type !== 3) return undefined;
  const [length = 0] = await reader.read(1);
  return toHostName((await reader.read(length)).toString("latin1"));
}

function refuse(socket: Socket, reply: number): undefined {
  answerSocks(socket, reply);
  socket.destroySoon();
  return undefined;
}
