import type { ServerResponse } from "node:http";
import { SandboxError } from "../errors/sandbox-error.js";
import { reasonOfHttpStatus, STATUS_OF_REASON } from "../errors/status-map.js";

/** Answer with a JSON document. */
export function sendJson(res: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { ...headers, "content-type": "application/json; charset=utf-8", "content-length": Buffer.byteLength(text) });
  res.end(res.req.method === "HEAD" ? undefined : text);
}

/** Answer with the error envelope of the daemon's HTTP endpoints, `{code, message}`. */
export function sendHttpError(res: ServerResponse, status: number, message: string, headers: Readonly<Record<string, string>> = {}): void {
  sendJson(res, status, { code: status, message }, headers);
}

/** The one place where an exception becomes an HTTP answer; an answer that has begun can only be cut. */
export function sendException(res: ServerResponse, error: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  if (SandboxError.isInstance(error)) {
    const status = STATUS_OF_REASON[error.reason].http;
    // Clients compare some bodies exactly, so the reason stands there only where the status does not say it already.
    const isSaid = reasonOfHttpStatus(status) === error.reason;
    sendJson(res, status, { code: status, message: error.message, ...(!isSaid && { error_code: error.reason }) });
    return;
  }
  sendHttpError(res, 500, error instanceof Error ? error.message : "the daemon failed for an unknown reason");
}
