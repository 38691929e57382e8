import { isIP, type Socket } from "node:net";
import { ConnectionError } from "../../errors/error-classes.js";
import { ByteReader } from "./byte-reader.js";
import { parseAddress } from "./ip-network.js";
import type { Destination } from "./network-policy.js";

/** User name and password, RFC 1929. */
export interface SocksCredentials {
  readonly username: string;
  readonly password: string;
}

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const USER_PASSWORD = 2;
const REPLIES = [
  "succeeded",
  "general failure",
  "not allowed by its rules",
  "network unreachable",
  "host unreachable",
  "connection refused",
  "time to live expired",
  "command not supported",
  "address type not supported",
];

/**
 * Make a SOCKS5 proxy (RFC 1928) connect to a destination, over a connection to it. Names go as names: the proxy looks them up.
 *
 * @throws {@link ConnectionError} it refused, or what answers is no SOCKS5 proxy.
 */
export async function connectThroughSocks(socket: Socket, destination: Destination, credentials?: SocksCredentials): Promise<void> {
  const reader = new ByteReader(socket);
  const methods = credentials === undefined ? [NO_AUTHENTICATION] : [NO_AUTHENTICATION, USER_PASSWORD];
  socket.write(Buffer.from([VERSION, methods.length, ...methods]));
  const [version, method] = await reader.read(2);
  if (version !== VERSION) throw new ConnectionError("the egress proxy does not speak SOCKS5");
  if (method === USER_PASSWORD && credentials !== undefined) await authenticate(socket, reader, credentials);
  else if (method !== NO_AUTHENTICATION) throw new ConnectionError("the egress proxy wants another authentication than a password");

  const port = Buffer.alloc(2);
  port.writeUInt16BE(destination.port);
  socket.write(Buffer.concat([Buffer.from([VERSION, 1, 0]), toAddress(destination.host), port]));
  const [, reply = 1, , type] = await reader.read(4);
  if (reply !== 0) {
    throw new ConnectionError(`the egress proxy did not connect to ${destination.host}:${destination.port}: ${REPLIES[reply] ?? reply}`);
  }
  const [length = 0] = type === 3 ? await reader.read(1) : [type === 4 ? 16 : 4];
  await reader.read(length + 2);
  reader.release();
}

async function authenticate(socket: Socket, reader: ByteReader, { username, password }: SocksCredentials): Promise<void> {
  const [user, secret] = [Buffer.from(username), Buffer.from(password)];
  socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([secret.length]), secret]));
  const [, status] = await reader.read(2);
  if (status !== 0) throw new ConnectionError("the egress proxy refused the user name or password");
}

function toAddress(host: string): Buffer {
  if (isIP(host) === 0) {
    const name = Buffer.from(host);
    return Buffer.concat([Buffer.from([3, name.length]), name]);
  }
  // isIP says that it is one.
  const { version, value } = parseAddress(host) as { version: 4 | 6; value: bigint };
  const size = version === 4 ? 4 : 16;
  const bytes = Buffer.from(value.toString(16).padStart(size * 2, "0"), "hex");
  return Buffer.concat([Buffer.from([version === 4 ? 1 : 4]), bytes]);
}
