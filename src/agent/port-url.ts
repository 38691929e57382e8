import type { Sandbox } from "../sandbox/sandbox.js";
import { toPortAddress } from "./port-address.js";

/** The URL at which a port of the sandbox is reached from outside, without a path. */
export function portUrl(sandbox: Sandbox, port: number): string {
  const { host, isLocal } = toPortAddress(sandbox, port);
  return `${isLocal ? "http" : "https"}://${host}`;
}
