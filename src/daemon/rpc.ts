import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createConnectRouter, createContextValues } from "@connectrpc/connect";
import { sendException, sendHttpError } from "./http-response.js";
import { processTimeoutMs } from "./process/process-service.js";
import { errorDetails } from "./rpc-errors.js";
import { toHeaders, toRpcRequest } from "./rpc-request.js";
import { sendRpcResponse } from "./rpc-response.js";
import { type BinaryStream, isPlainBinaryStream, onlyMessage, readSmallBody, sendBinaryStream, toCallSignal } from "./rpc-stream.js";

/** Largest message of a request. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const MAX_TIMER_MS = 2_147_483_647;
const START_PATH = "/process.Process/Start";

const UNARY_TYPES = ["application/json", "application/proto"];
const STREAM_TYPES = ["application/connect+json", "application/connect+proto"];
const GRPC_WEB_TYPES = ["application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"];

export interface RpcOptions {
  readonly services: readonly DescService[];
  readonly routes: (router: ConnectRouter) => void;
  /** Streaming methods that also have a short way for binary clients, by their paths. */
  readonly binaryStreams: ReadonlyMap<string, BinaryStream>;
}

export interface RpcHandler {
  /** The path belongs to one of the services, known method or not. */
  isRpcPath(path: string): boolean;
  handle(req: IncomingMessage, res: ServerResponse, path: string): void;
}

/** Serve Connect services, and gRPC-web as browsers need it, over HTTP/1.1. Nothing is ever compressed. */
export function createRpcHandler(options: RpcOptions): RpcHandler {
  const isStreamOfPath = new Map<string, boolean>();
  for (const service of options.services) {
    for (const method of service.methods) isStreamOfPath.set(`/${service.typeName}/${method.name}`, method.methodKind !== "unary");
  }
  const prefixes = options.services.map((service) => `/${service.typeName}/`);
  const router = createConnectRouter({ grpc: false, acceptCompression: [], readMaxBytes: MAX_MESSAGE_BYTES, interceptors: [errorDetails] });
  options.routes(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));

  return {
    isRpcPath: (path) => prefixes.some((prefix) => path.startsWith(prefix)),
    handle(req, res, path) {
      const isStream = isStreamOfPath.get(path);
      const handler = handlers.get(path);
      if (isStream === undefined || handler === undefined) return sendHttpError(res, 404, `no RPC has the path '${path}'`);
      if (req.method !== "POST") return sendHttpError(res, 405, `RPC '${path}' is called with POST, not ${req.method}`, { allow: "POST" });
      const accepted = [...(isStream ? STREAM_TYPES : UNARY_TYPES), ...GRPC_WEB_TYPES];
      const type = (req.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
      if (!accepted.includes(type)) {
        const message = `RPC '${path}' takes ${accepted.join(", ")}; the request has '${type || "no Content-Type"}'`;
        return sendHttpError(res, 415, message, { "accept-post": accepted.join(", ") });
      }
      req.headers["content-type"] = type;
      const timeoutMs = takeTimeout(req.headers, path);
      const values = createContextValues().set(processTimeoutMs, timeoutMs);
      const general = async (body?: Buffer) => {
        const request = toRpcRequest(req, res, path, values, body === undefined ? undefined : toBody(body));
        await sendRpcResponse(await handler(request), res);
      };
      const open = options.binaryStreams.get(path);
      const answer = open !== undefined && isPlainBinaryStream(req) ? sendStream(req, res, open, general) : general();
      answer.catch((error: unknown) => sendException(res, error));
    },
  };
}

/** The short way, or the general one for a request that it does not understand. */
async function sendStream(
  req: IncomingMessage,
  res: ServerResponse,
  open: BinaryStream,
  general: (body: Buffer) => Promise<void>,
): Promise<void> {
  const body = await readSmallBody(req);
  const message = onlyMessage(body);
  if (message === undefined) return general(body);
  await sendBinaryStream(open(message, { requestHeader: toHeaders(req), signal: toCallSignal(res) }), res);
}

async function* toBody(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/**
 * Take a timeout that the protocol layer must not apply off the request, and return it when it belongs to the started process: that of Start
 * is the life of the process, which outlives the stream. 0 means no limit on this wire, and a timer cannot express more than 2^31
 * milliseconds. A malformed value stays, and the protocol layer refuses it.
 */
function takeTimeout(headers: IncomingHttpHeaders, path: string): number | undefined {
  const text = headers["connect-timeout-ms"];
  if (typeof text !== "string" || !/^\d{1,10}$/.test(text)) return undefined;
  const timeoutMs = Number(text);
  const isStart = path === START_PATH;
  if (isStart || timeoutMs === 0 || timeoutMs > MAX_TIMER_MS) delete headers["connect-timeout-ms"];
  return isStart && timeoutMs > 0 ? timeoutMs : undefined;
}
