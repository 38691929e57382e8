import type { IncomingMessage } from "node:http";
import { AuthenticationError } from "../errors/error-classes.js";
import { isSameSecret } from "../shared/same-secret-node.js";

/** The token that a request presents. A header sent twice arrives joined, so it matches nothing. */
export function presentedToken(req: IncomingMessage): string | undefined {
  const value = req.headers["x-access-token"];
  return Array.isArray(value) ? value.join(", ") : value;
}

/**
 * Routes that decide for themselves: health is always open, file transfers accept a signature, `/init` has rules of its own.
 */
export function isOpenRoute(method: string, path: string): boolean {
  switch (path) {
    case "/health":
      return method === "GET" || method === "HEAD";
    case "/files":
      return method === "GET" || method === "POST";
    case "/init":
      return method === "POST";
    default:
      return false;
  }
}

/**
 * Let a request pass only with the sandbox's access token, when it has one.
 *
 * @throws {@link AuthenticationError} the token is missing or wrong.
 */
export function assertAccess(req: IncomingMessage, accessToken: string | undefined): void {
  if (accessToken === undefined) return;
  const presented = presentedToken(req);
  if (presented === undefined) throw new AuthenticationError("the access token is missing: send it in the header X-Access-Token");
  if (!isSameSecret(presented, accessToken)) throw new AuthenticationError("the access token is wrong for this sandbox");
}
