import type { EgressService } from "./egress/egress-service.js";
import type { BuildNetwork } from "./templates/build-sandbox.js";

/** What every sandbox reaches that asks for nothing; builds and entries of the pool too. */
export function toPlainNetwork(egress: EgressService): BuildNetwork {
  const config = { allowInternetAccess: undefined, network: {} };
  return {
    init: (sandboxId) => ({ egress: egress.setupFor(sandboxId, config) }),
    open: (link) => egress.open(link, config),
  };
}
