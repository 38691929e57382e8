import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createContextValues } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { sendHttpError } from "./http-response.js";
import { processTimeoutMs } from "./process/process-service.js";
import { errorDetails } from "./rpc-errors.js";

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
  const adapter = connectNodeAdapter({
    routes: options.routes,
    grpc: false,
    acceptCompression: [],
    readMaxBytes: MAX_MESSAGE_BYTES,
    interceptors: [errorDetails],
    contextValues: ({ url, headers }) => createContextValues().set(processTimeoutMs, takeProcessTimeout(url, headers)),
  });

  return {
    isRpcPath: (path) => prefixes.some((prefix) => path.startsWith(prefix)),
    handle(req, res, path) {
      const isStream = isStreamOfPath.get(path);
      if (isStream === undefined) return sendHttpError(res, 404, `no RPC has the path '${path}'`);
      if (req.method !== "POST") return sendHttpError(res, 405, `RPC '${path}' is called with POST, not ${req.method}`, { allow: "POST" });
      const accepted = [...(isStream ? STREAM_TYPES : UNARY_TYPES), ...GRPC_WEB_TYPES];
      const type = (req.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
      if (!accepted.includes(type)) {
        const message = `RPC '${path}' takes ${accepted.join(", ")}; the request has '${type || "no Content-Type"}'`;
        return sendHttpError(res, 415, message, { "accept-post": accepted.join(", ") });
      }
      // The adapter builds a URL from it, and throws for a host that is missing or no host.
      req.headers.host = "sandbox";
      req.headers["content-type"] = type;
      normalizeTimeout(req);
      adapter(req, res);
    },
  };
}

/** 0 means no limit on this wire, and a timer cannot express more than 2^31 milliseconds: both lose the header. */
function normalizeTimeout(req: IncomingMessage): void {
  const value = parseTimeout(req.headers);
  if (value !== undefined && (value === 0 || value > MAX_TIMER_MS) && req.url?.split("?", 1)[0] !== START_PATH) {
    delete req.headers["connect-timeout-ms"];
  }
}

/** The timeout of Start is the life of the process, which outlives the stream: take it off the request. */
function takeProcessTimeout(url: string | undefined, headers: IncomingHttpHeaders): number | undefined {
  if (url?.split("?", 1)[0] !== START_PATH) return undefined;
  const value = parseTimeout(headers);
  if (value === undefined) return undefined;
  delete headers["connect-timeout-ms"];
  return value === 0 ? undefined : value;
}

/** A malformed value stays where it is, so that the protocol layer refuses it. */
function parseTimeout(headers: IncomingHttpHeaders): number | undefined {
  const text = headers["connect-timeout-ms"];
  return typeof text === "string" && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
