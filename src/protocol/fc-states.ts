import { InvalidArgumentError } from "../errors/error-classes.js";
import type { StateClient } from "./state-client.js";

/** The service copies memory and disk, which takes minutes. */
const SNAPSHOT_TIMEOUT_MS = 300_000;
const WORD = "[_a-zA-Z][-_a-zA-Z0-9]{0,63}";
const NAME = new RegExp(`^(?:[^/:]{1,32}/)?${WORD}(?::${WORD})?$`);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A client of states with the rules of the FC service for snapshots. */
export function withFcStates(client: StateClient): StateClient {
  return {
    ...client,
    async createSnapshot(sandboxId, name, options) {
      if (name !== undefined && !NAME.test(name)) {
        throw new InvalidArgumentError(
          `name must be [team/]name[:tag] with names of letters, digits, "_" and "-", not ${JSON.stringify(name)}`,
        );
      }
      return client.createSnapshot(sandboxId, name, {
        ...options,
        requestTimeoutMs: options.requestTimeoutMs ?? SNAPSHOT_TIMEOUT_MS,
      });
    },
    async deleteSnapshot(snapshotId, options) {
      const isQualified = snapshotId.split("/").length === 2 && NAME.test(snapshotId);
      if (!isQualified && !UUID.test(snapshotId)) {
        throw new InvalidArgumentError(
          `snapshotId must be a UUID or team/name[:tag], not ${JSON.stringify(snapshotId)}: the FC service would delete a template of that name`,
        );
      }
      return client.deleteSnapshot(snapshotId, options);
    },
  };
}
