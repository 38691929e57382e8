import type { components } from "../../../gen/openapi/lifecycle.js";
import type { AccessEntry } from "../egress/access-log.js";
import type { EgressService } from "../egress/egress-service.js";
import { parseSandboxId } from "../sandbox-id.js";
import type { Sandboxes } from "../sandboxes.js";
import { filledIn } from "./filled-in.js";
import { toEgressUpdate } from "./network-body.js";
import type { Handlers } from "./operation-types.js";

export interface NetworkHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly egress: EgressService;
}

type NetworkOperation = "updateSandboxNetwork" | "getSandboxNetworkLog";

/** The operations on the network of a sandbox. */
export function createNetworkHandlers({ sandboxes, egress }: NetworkHandlerParts): Pick<Handlers, NetworkOperation> {
  return {
    updateSandboxNetwork: async ({ path, body }) => {
      await sandboxes.updateNetwork(parseSandboxId(path.sandboxID), toEgressUpdate(body));
      return { status: 204 };
    },
    getSandboxNetworkLog: ({ path, query }) => {
      const { id } = sandboxes.get(parseSandboxId(path.sandboxID));
      return { status: 200, body: egress.accessLog(id, filledIn(query.limit)).map(toWire) };
    },
  };
}

function toWire({ at, ...entry }: AccessEntry): components["schemas"]["NetworkLogEntry"] {
  return { at: at.toISOString(), ...entry };
}
