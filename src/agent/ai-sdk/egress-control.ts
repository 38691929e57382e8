import { FailedPreconditionError } from "../../errors/error-classes.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { type SandboxNetworkPolicy, toEgressRules } from "./network-policy.js";
import { type RequestTransformation, toHeaderRules } from "./request-transformations.js";
import type { EgressProxy, NetworkUpdate } from "./sandbox-types.js";

/**
 * Changes one part of the rules of a sandbox and leaves the others as they are, though the platform replaces all of them at once. One change
 * at a time.
 */
export class EgressControl {
  readonly #sandbox: Sandbox;
  readonly #proxy: EgressProxy | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param proxy the proxy of the sandbox, whose password the platform gives nobody */
  constructor(sandbox: Sandbox, proxy: EgressProxy | undefined) {
    this.#sandbox = sandbox;
    this.#proxy = proxy;
  }

  readonly setNetworkPolicy = (policy: SandboxNetworkPolicy): Promise<void> => {
    return this.#change(({ rules, egressProxy }) => ({
      ...toEgressRules(policy),
      ...(rules && { rules }),
      ...(egressProxy && { egressProxy }),
    }));
  };

  readonly setRequestTransformations = (transformations: readonly RequestTransformation[]): Promise<void> => {
    return this.#change((before) => ({ ...before, rules: toHeaderRules(transformations) }));
  };

  #change(toNext: (before: NetworkUpdate) => NetworkUpdate): Promise<void> {
    const change = async (): Promise<void> => this.#sandbox.network.update(toNext(await this.#read()));
    const result = this.#last.then(change, change);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #read(): Promise<NetworkUpdate> {
    const { network, allowInternetAccess } = await this.#sandbox.getInfo();
    const { allowOut, denyOut, rules, egressProxy } = network ?? {};
    if (egressProxy?.username !== undefined && this.#proxy === undefined) {
      throw new FailedPreconditionError(
        `the sandbox has the proxy ${egressProxy.address} with a password, which the platform does not give back: give egressProxy to the session`,
      );
    }
    const proxy = this.#proxy ?? egressProxy;
    return {
      ...(allowOut && { allowOut }),
      ...(denyOut && { denyOut }),
      ...(rules && { rules }),
      ...(proxy && { egressProxy: proxy }),
      ...(allowInternetAccess === false && { allowInternetAccess }),
    };
  }
}
