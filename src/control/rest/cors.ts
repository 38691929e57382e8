import type { IncomingMessage, ServerResponse } from "node:http";

const EXPOSED = "X-Next-Token, X-Total-Running, X-Request-Id, Retry-After, Should-Retry, Agent-Sandbox-Encoding, Agent-Sandbox-Services";

/** Let pages of any origin read the answer. No page can send a key that it does not know, and no cookie counts. */
export function allowAnyOrigin(response: ServerResponse): void {
  response.setHeader("Access-Control-Allow-Origin", "*");
  response.setHeader("Access-Control-Expose-Headers", EXPOSED);
}

/** Headers of the answer to a preflight request. */
export function preflightHeaders(request: IncomingMessage): Record<string, string> {
  return {
    "Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "Access-Control-Allow-Headers": request.headers["access-control-request-headers"] ?? "*",
    "Access-Control-Max-Age": "7200",
    Vary: "Access-Control-Request-Headers",
  };
}
