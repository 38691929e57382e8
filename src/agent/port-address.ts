import type { Sandbox } from "../sandbox/sandbox.js";

/** Where a port is reached by its name. */
export interface PortAddress {
  /** Host name, with a port of its own where that is not the usual one. */
  readonly host: string;
  /** The platform of this machine has no certificate, all others have one. */
  readonly isLocal: boolean;
}

/** Where a port of a sandbox is reached. @throws {@link InvalidArgumentError} it is no port. */
export function toPortAddress(sandbox: Sandbox, port: number): PortAddress {
  const host = sandbox.getHost(port);
  return { host, isLocal: /\.localhost(:\d+)?$/.test(host) };
}
