import type { Config } from "../transport/config.js";
import type { SandboxAccess } from "./lifecycle-types.js";

/** Domains whose edge has one shared host for the daemons of all sandboxes. */
const SHARED_HOST_DOMAINS: readonly string[] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];
/** Names and addresses of this machine, as `URL` writes them. */
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Host name of a port of a sandbox. */
export function toHost(port: number, sandboxId: string, domain: string): string {
  return `${port}-${sandboxId}.${domain}`;
}

/** Where a port of a sandbox answers to requests with routing headers. */
export function portUrl(port: number, config: Config, access: SandboxAccess): string {
  const domain = access.domain ?? config.domain;
  return sharedEdgeUrl(config, domain) ?? `https://${toHost(port, access.sandboxId, domain)}`;
}

/** Where the daemon of a sandbox answers. */
export function daemonUrl(port: number, config: Config, access: SandboxAccess): string {
  const domain = access.domain ?? config.domain;
  const shared = SHARED_HOST_DOMAINS.includes(domain) ? `https://sandbox.${domain}` : undefined;
  return config.sandboxUrl ?? shared ?? portUrl(port, config, access);
}

/**
 * The one URL of all sandboxes, where there is one: the configured one, else that of a platform of this machine.
 *
 * Such a platform has its API and its edge on one port, and no certificate; names below `localhost` are not known everywhere.
 */
function sharedEdgeUrl({ sandboxUrl, apiUrl }: Config, domain: string): string | undefined {
  if (sandboxUrl !== undefined) return sandboxUrl;
  const { protocol, hostname, port, origin } = new URL(apiUrl);
  const isOfThisMachine = protocol === "http:" && LOOPBACK.test(hostname) && domain === `localhost:${port || "80"}`;
  return isOfThisMachine ? origin : undefined;
}
