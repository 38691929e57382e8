import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamToJson } from "@connectrpc/connect/protocol-connect";
import { drained } from "../shared/drained-node.js";
import { toConnectError } from "./rpc-errors.js";

/** Requests that are read whole at once; whatever is larger takes the general way. */
const MAX_REQUEST_BYTES = 1024 * 1024;
const PREFIX_BYTES = 5;
const END_STREAM_FLAG = 0x02;

/** What a call of a binary stream knows beside its message. */
export interface StreamCall {
  readonly requestHeader: Headers;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** A stream whose messages are encoded already, each in parts that are sent as they are. */
export type BinaryStream = (message: Uint8Array, call: StreamCall) => AsyncIterable<readonly Uint8Array[]>;

/** Path of a method. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

/** A request that the short way of {@link sendBinaryStream} can serve: Connect, binary, small, and without a deadline of the protocol. */
export function isPlainBinaryStream(req: IncomingMessage): boolean {
  const { "content-type": type, "content-length": length, "connect-timeout-ms": timeout, "content-encoding": encoding } = req.headers;
  return (
    type === "application/connect+proto" &&
    length !== undefined &&
    Number(length) <= MAX_REQUEST_BYTES &&
    timeout === undefined &&
    (encoding ?? "identity") === "identity"
  );
}

/** The body of a request that {@link isPlainBinaryStream} accepts. */
export async function readSmallBody(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of req.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer); // no encoding is set
  return Buffer.concat(chunks);
}

/** The one uncompressed message of a body; `undefined` when it is anything else. */
export function onlyMessage(body: Buffer): Uint8Array | undefined {
  if (body.length < PREFIX_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== body.length - PREFIX_BYTES) return undefined;
  return body.subarray(PREFIX_BYTES);
}

/**
 * Answer a streaming call in binary without the library's chain of generators and copies: most of the cost of large output.
 *
 * The wire is the same: envelopes, and at the end one that says how the call ended.
 */
export async function sendBinaryStream(stream: AsyncIterable<readonly Uint8Array[]>, res: ServerResponse): Promise<void> {
  res.writeHead(200, { "content-type": "application/connect+proto" });
  let failure: ConnectError | undefined;
  try {
    for await (const parts of stream) {
      write(res, 0, parts);
      // A corked response has no `drain` of its own where its socket took everything at once, so the socket is asked.
      if (res.socket?.writableNeedDrain) await drained(res.socket);
      if (res.destroyed) return;
    }
  } catch (error) {
    failure = toConnectError(error);
  }
  if (res.destroyed) return;
  write(res, END_STREAM_FLAG, [Buffer.from(JSON.stringify(endStreamToJson(new Headers(), failure, undefined)))]);
  res.end();
}

/** A signal that aborts when the client leaves before the answer is complete. */
export function toCallSignal(res: ServerResponse): AbortSignal {
  const abort = new AbortController();
  // The request closes once its body was read; only the response tells that the client is gone.
  res.once("close", () => {
    if (!res.writableFinished) abort.abort(new ConnectError("the client left", Code.Canceled));
  });
  return abort.signal;
}

function write(res: ServerResponse, flags: number, parts: readonly Uint8Array[]): void {
  const prefix = Buffer.allocUnsafe(PREFIX_BYTES);
  prefix[0] = flags;
  prefix.writeUInt32BE(
    parts.reduce((sum, { length }) => sum + length, 0),
    1,
  );
  // Corked, the parts travel as one HTTP chunk.
  res.cork();
  res.write(prefix);
  for (const part of parts) res.write(part);
  res.uncork();
}
