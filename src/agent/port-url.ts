import type { Sandbox } from "../sandbox/sandbox.js";

/** URL at which a port of the sandbox is reached from outside. @throws {@link InvalidArgumentError} no such port. */
export function toPortUrl(sandbox: Sandbox, port: number): string {
  const host = sandbox.getHost(port);
  // The platform of this machine has no certificate.
  return `${/\.localhost(:\d+)?$/.test(host) ? "http" : "https"}://${host}`;
}
