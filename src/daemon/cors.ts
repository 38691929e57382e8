import type { IncomingMessage, ServerResponse } from "node:http";

const EXPOSED = [
  "Grpc-Status",
  "Grpc-Message",
  "Grpc-Status-Details-Bin",
  "Content-Disposition",
  "Content-Encoding",
  "Content-Range",
  "X-Envd-Version",
].join(", ");

/** Let pages of any origin read the answers: the access token guards them, never a cookie. */
export function allowAnyOrigin(res: ServerResponse): void {
  res.setHeader("access-control-allow-origin", "*");
  res.setHeader("access-control-expose-headers", EXPOSED);
}

/** Answer a CORS preflight. It carries no token, so it comes before every check. */
export function answerPreflight(req: IncomingMessage, res: ServerResponse): void {
  res.writeHead(204, {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
    "access-control-allow-headers": req.headers["access-control-request-headers"] ?? "*",
    "access-control-max-age": "7200",
    vary: "Access-Control-Request-Headers",
  });
  res.end();
}
