import type { IncomingMessage, ServerResponse } from "node:http";
import type { ContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { toCallSignal } from "./rpc-stream.js";

/**
 * What an RPC handler sees of a request. Its signal aborts when the client leaves before the answer is complete.
 *
 * The Host header plays no part: it may be missing, or no host at all.
 */
export function toRpcRequest(
  req: IncomingMessage,
  res: ServerResponse,
  path: string,
  contextValues: ContextValues,
  body: AsyncIterable<Uint8Array> = req.iterator({ destroyOnReturn: false }),
): UniversalServerRequest {
  return {
    httpVersion: req.httpVersion,
    method: req.method ?? "",
    url: `http://sandbox${path}`,
    header: toHeaders(req),
    body,
    signal: toCallSignal(res),
    contextValues,
  };
}

/** The headers of a request as handlers read them. */
export function toHeaders(req: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== undefined) headers.append(name, item);
  }
  return headers;
}
