import type { IncomingMessage, ServerResponse } from "node:http";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";

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
): UniversalServerRequest {
  const header = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    for (const item of Array.isArray(value) ? value : [value]) if (item !== undefined) header.append(name, item);
  }
  const abort = new AbortController();
  // The request closes once its body was read; only the response tells that the client is gone.
  res.once("close", () => {
    if (!res.writableFinished) abort.abort(new ConnectError("the client left", Code.Canceled));
  });
  return {
    httpVersion: req.httpVersion,
    method: req.method ?? "",
    url: `http://sandbox${path}`,
    header,
    body: req.iterator({ destroyOnReturn: false }),
    signal: abort.signal,
    contextValues,
  };
}
