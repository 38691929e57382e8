import type { NetworkClient, NetworkLogEntry, NetworkUpdate } from "../protocol/network-client.js";
import type { RequestOptions } from "../transport/config.js";

/** Every address: in `denyOut` it denies everything that `allowOut` does not name. */
export const ALL_TRAFFIC = "0.0.0.0/0";

/** How much of the log is read. */
export interface NetworkLogOptions extends RequestOptions {
  /** Newest entries to give, 1 to 1000. @defaultValue 100 */
  readonly limit?: number | undefined;
}

/** What one sandbox may reach, and what it tried to reach. */
export class Network {
  readonly #client: NetworkClient;
  readonly #sandboxId: string;

  /** @internal */
  constructor(client: NetworkClient, sandboxId: string) {
    this.#client = client;
    this.#sandboxId = sandboxId;
  }

  /**
   * Replace all rules for outgoing traffic: what is left out is cleared, so `{}` opens the public internet.
   *
   * Connections that the new rules do not allow are cut at once.
   */
  async update(rules: NetworkUpdate, options: RequestOptions = {}): Promise<void> {
    await this.#client.update(this.#sandboxId, rules, options);
  }

  /** The newest connections and requests with the decision about each and its reason, oldest first. An addition of our own platform. */
  async log(options: NetworkLogOptions = {}): Promise<readonly NetworkLogEntry[]> {
    const { limit, ...request } = options;
    return this.#client.log(this.#sandboxId, limit, request);
  }
}
