import type { Experimental_SandboxSession } from "ai";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { hasEnded } from "../sandbox-life.js";
import { EgressControl } from "./egress-control.js";
import { findGuestPlace } from "./guest-place.js";
import type { SandboxNetworkPolicy } from "./network-policy.js";
import { createSandboxSession, type SandboxSessionOptions } from "./open-sandbox-session.js";
import { type PortEndpoint, type PortOptions, toPortEndpoint, toPortUrl } from "./port-endpoint.js";
import type { RequestTransformation } from "./request-transformations.js";
import type { EgressProxy } from "./sandbox-types.js";

/** How a sandbox is used as the session of a harness. */
export interface NetworkSandboxSessionOptions extends SandboxSessionOptions {
  /** Ports that harnesses may use for programs of theirs. Every port of a sandbox is reachable, listed or not. @defaultValue [4000] */
  readonly ports?: readonly number[] | undefined;
  /**
   * What `stop()` does: `pause` ends the processes and keeps the files for a resumption, `kill` keeps nothing, and `leave` does nothing, as then
   * does `destroy()`, for a sandbox that belongs to somebody else. @defaultValue "pause"
   */
  readonly onStop?: "pause" | "kill" | "leave" | undefined;
  /** Proxy of the sandbox, needed to change its rules where the proxy has a password. */
  readonly egressProxy?: EgressProxy | undefined;
}

/**
 * `HarnessV1NetworkSandboxSession` of `@ai-sdk/harness` over a sandbox. It has no `addRequestTransformations`, whose conditions on headers
 * the rules of a sandbox cannot say, and no `setPorts`, since every port is reachable.
 */
export interface NetworkSandboxSession extends Experimental_SandboxSession {
  /** The id of the sandbox. */
  readonly id: string;
  /** Absolute path that relative ones begin in. */
  readonly defaultWorkingDirectory: string;
  readonly ports: readonly number[];
  /** Where a port is reached, with the headers that it needs. */
  readonly getPortEndpoint: (options: PortOptions) => Promise<PortEndpoint>;
  /** The URL of a port. @throws {@link FailedPreconditionError} it needs a header too. */
  readonly getPortUrl: (options: PortOptions) => Promise<string>;
  /** See `onStop` of {@link NetworkSandboxSessionOptions}. Once more does nothing. */
  readonly stop: () => Promise<void>;
  /** Kill the sandbox, running or stopped. Once more does nothing. */
  readonly destroy: () => Promise<void>;
  /** Replace what the sandbox may reach; its header rules and its proxy stay. @throws {@link UnimplementedError} the rules cannot say it. */
  readonly setNetworkPolicy: (policy: SandboxNetworkPolicy) => Promise<void>;
  /** Replace the header rules. @throws {@link UnimplementedError} one has a condition beside the host. */
  readonly setRequestTransformations: (transformations: readonly RequestTransformation[]) => Promise<void>;
  /** The same sandbox without anything that ends it or changes its network. */
  readonly restricted: () => Experimental_SandboxSession;
}

const DEFAULT_PORTS = [4000];

/** A sandbox as the `sandboxSession` of a `HarnessAgent`. @throws {@link InvalidArgumentError} there is no such `workingDirectory`. */
export async function openNetworkSandboxSession(
  sandbox: Sandbox,
  options: NetworkSandboxSessionOptions = {},
): Promise<NetworkSandboxSession> {
  const { onStop = "pause", ports = DEFAULT_PORTS } = options;
  const place = await findGuestPlace(sandbox, options.workingDirectory, options.user, options.signal);
  const session = createSandboxSession(sandbox, place, options);
  const { setNetworkPolicy, setRequestTransformations } = new EgressControl(sandbox, options.egressProxy);
  return {
    ...session,
    id: sandbox.sandboxId,
    defaultWorkingDirectory: place.directory,
    ports: [...ports],
    getPortEndpoint: async (port) => toPortEndpoint(sandbox, port),
    getPortUrl: async (port) => toPortUrl(sandbox, port),
    async stop() {
      if (onStop === "pause") await pauseIfThere(sandbox);
      if (onStop === "kill") await sandbox.kill();
    },
    async destroy() {
      if (onStop !== "leave") await sandbox.kill();
    },
    setNetworkPolicy,
    setRequestTransformations,
    restricted: () => session,
  };
}

async function pauseIfThere(sandbox: Sandbox): Promise<void> {
  try {
    await sandbox.pause({ keepMemory: false });
  } catch (error) {
    if (!hasEnded(error)) throw error;
  }
}
