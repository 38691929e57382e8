import { isIP } from "node:net";
import { toSandboxId } from "../sandbox-id.js";

/** Port of the envd wire inside every sandbox. */
export const DAEMON_PORT = 49_983;

/** Where a request goes. */
export type Route =
  /** The platform's own API. */
  | { readonly kind: "platform" }
  | { readonly kind: "sandbox"; readonly sandboxId: string; readonly port: number }
  | { readonly kind: "refused"; readonly status: 400 | 403; readonly message: string };

/** What of a request decides its route. */
export interface RouteInput {
  readonly host: string | undefined;
  /** Headers `E2b-Sandbox-Id` and `E2b-Sandbox-Port`. */
  readonly sandboxId: string | undefined;
  readonly sandboxPort: string | undefined;
  /** Target of the request. */
  readonly path: string;
}

/** Paths of the API about one sandbox. No daemon serves them, and some clients name the sandbox in headers there as well. */
const SANDBOX_API_PATH = /^\/(v\d+\/)?sandboxes\//;

/**
 * Route a request by its host name and, on a host that names no sandbox, by its headers.
 *
 * A host name of a sandbox (`<port>-<id>.<domain>`) wins over headers that say something else. Names that are neither loopback nor of the
 * domain are refused: a page that made its own name resolve to this machine would speak for its visitor.
 *
 * @param domain domain of the sandboxes' hosts beside `localhost`, without a port.
 */
export function routeRequest(input: RouteInput, domain: string): Route {
  const host = parseHost(input.host);
  if (host === undefined) return { kind: "refused", status: 400, message: "the Host header is missing or malformed" };
  const label = subdomainOf(host, [domain, "localhost"]);
  if (label === undefined && host !== domain && host !== "localhost" && isIP(host) === 0) {
    return {
      kind: "refused",
      status: 403,
      message: `the host "${host.slice(0, 100)}" is not served here; use 127.0.0.1, localhost or ${domain}`,
    };
  }
  return (label === undefined ? undefined : routeByLabel(label)) ?? routeByHeaders(input);
}

/** Lower-case name or address of a Host header, without port, brackets and the root's dot. */
function parseHost(header: string | undefined): string | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:@/\s]+))(?::\d{1,5})?$/i.exec(header ?? "");
  const host = match?.[1] ?? match?.[2]?.replace(/\.$/, "");
  return host === undefined || host === "" ? undefined : host.toLowerCase();
}

/** Left-most label of a name below one of the domains. */
function subdomainOf(host: string, domains: readonly string[]): string | undefined {
  return domains.some((domain) => host.endsWith(`.${domain}`)) ? host.slice(0, host.indexOf(".")) : undefined;
}

function routeByLabel(label: string): Route | undefined {
  const match = /^(\d+)-(.*)$/.exec(label);
  if (match === null) return undefined;
  return toSandboxRoute(match[2] ?? "", match[1] ?? "", "host name");
}

function routeByHeaders({ sandboxId, sandboxPort, path }: RouteInput): Route {
  if (sandboxId === undefined && sandboxPort === undefined) return { kind: "platform" };
  if (sandboxPort === String(DAEMON_PORT) && SANDBOX_API_PATH.test(path)) return { kind: "platform" };
  if (sandboxId === undefined || sandboxPort === undefined) {
    const missing = sandboxId === undefined ? "E2b-Sandbox-Id" : "E2b-Sandbox-Port";
    return { kind: "refused", status: 400, message: `the header ${missing} is missing; send both E2b-Sandbox-Id and E2b-Sandbox-Port` };
  }
  return toSandboxRoute(sandboxId, sandboxPort, "headers");
}

function toSandboxRoute(idText: string, portText: string, source: string): Route {
  const sandboxId = toSandboxId(idText);
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : 0;
  if (sandboxId === undefined) return { kind: "refused", status: 400, message: `Invalid sandbox ID in the ${source}` };
  if (port < 1 || port > 65_535)
    return { kind: "refused", status: 400, message: `the port in the ${source} must be a number from 1 to 65535` };
  return { kind: "sandbox", sandboxId, port };
}
