import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { toPortAddress } from "../port-address.js";

/** Which port, and how it is spoken to. */
export interface PortOptions {
  readonly port: number;
  /** `ws` for a WebSocket. The connection is encrypted where the platform has a certificate. @defaultValue "http" */
  readonly protocol?: "http" | "https" | "ws" | undefined;
}

/** Where a port is reached. The headers belong to every request there. */
export interface PortEndpoint {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Where a port of a sandbox is reached. On the platform of this machine that is its loopback address, with headers that name the sandbox, since
 * not every system knows the names of sandboxes.
 *
 * @throws {@link InvalidArgumentError} no port; {@link FailedPreconditionError} `https` where the platform has no certificate.
 */
export function toPortEndpoint(sandbox: Sandbox, { port, protocol }: PortOptions): PortEndpoint {
  const { host, scheme, isLocal } = toAddress(sandbox, port, protocol);
  const token = sandbox.trafficAccessToken;
  const headers = {
    ...(isLocal && { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": String(port) }),
    ...(token !== undefined && { "e2b-traffic-access-token": token }),
  };
  const url = `${scheme}://${isLocal ? host.replace(/^[^:]+/, "127.0.0.1") : host}`;
  return Object.keys(headers).length === 0 ? { url } : { url, headers };
}

/** The URL of a port by its host name. @throws as {@link toPortEndpoint}; {@link FailedPreconditionError} a URL alone does not open it. */
export function toPortUrl(sandbox: Sandbox, { port, protocol }: PortOptions): string {
  const { host, scheme } = toAddress(sandbox, port, protocol);
  if (sandbox.trafficAccessToken !== undefined) {
    throw new FailedPreconditionError(`port ${port} is private and needs a header: use getPortEndpoint, which gives it`);
  }
  return `${scheme}://${host}`;
}

function toAddress(sandbox: Sandbox, port: number, protocol: PortOptions["protocol"] = "http") {
  const { host, isLocal } = toPortAddress(sandbox, port);
  if (isLocal && protocol === "https") {
    throw new FailedPreconditionError("the platform of this machine has no certificate: ask for http or ws");
  }
  return { host, isLocal, scheme: `${protocol === "ws" ? "ws" : "http"}${isLocal ? "" : "s"}` };
}
