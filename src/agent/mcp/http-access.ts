import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { isSameSecret } from "../../shared/same-secret-node.js";

/** Who may use the server. */
export interface McpAccess {
  /** Address that it listens on. */
  readonly host: string;
  /** Bearer token; absent lets everybody in who reaches it. */
  readonly token: string | undefined;
  /** Origins of pages that may use it, such as `https://app.example`. */
  readonly allowedOrigins: readonly string[];
}

/** Why a request is refused. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** @throws {@link InvalidArgumentError} everybody on the network could use it, or nobody. */
export function assertAccess({ host, token }: McpAccess): void {
  if (token === "") throw new InvalidArgumentError("the token of the MCP server is empty; set one, or none at all on a loopback address");
  if (token === undefined && !isLoopback(host)) {
    throw new InvalidArgumentError(`an MCP server on ${host} can be reached by others, so it needs a token: set AGENT_SANDBOX_MCP_TOKEN`);
  }
}

/** Check a request before its body is read. */
export function findRefusal(headers: IncomingHttpHeaders, { host, token, allowedOrigins }: McpAccess): Refusal | undefined {
  const name = hostNameOf(headers.host);
  // A page whose name is made to lead here sends its own name, which is how it is told apart from a program of this machine.
  if (isLoopback(host) && !isLoopback(name)) return { status: 403, message: "the host of the request is not this machine" };
  const { origin } = headers;
  if (origin !== undefined && !allowedOrigins.includes(origin))
    return { status: 403, message: "pages of this origin may not use this server" };
  if (token === undefined) return undefined;
  const given = /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1];
  if (given === undefined) return { status: 401, message: "the token is missing: send it as Authorization: Bearer" };
  return isSameSecret(given, token) ? undefined : { status: 401, message: "the token is wrong" };
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function hostNameOf(header: string | undefined): string {
  return (header ?? "")
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .toLowerCase();
}
