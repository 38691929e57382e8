import type { components } from "../../../gen/openapi/lifecycle.js";
import type { IsolationReport } from "../drivers/driver.js";
import { toEnforcedLimits } from "../isolation.js";
import { parseSandboxId } from "../sandbox-id.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import type { Handlers } from "./operation-types.js";

export interface IsolationHandlerParts {
  readonly sandboxes: Pick<Sandboxes, "get">;
  /** Of one sandbox, or of one that would be created now. */
  readonly isolation: (sandboxId?: string) => Promise<IsolationReport>;
}

/** The operation that tells how a sandbox is isolated. */
export function createIsolationHandlers({ sandboxes, isolation }: IsolationHandlerParts): Pick<Handlers, "getSandboxIsolation"> {
  return {
    getSandboxIsolation: async ({ path }) => {
      const record = sandboxes.get(parseSandboxId(path.sandboxID));
      return { status: 200, body: toIsolationWire(await isolation(record.id), record) };
    },
  };
}

function toIsolationWire(report: IsolationReport, record: SandboxRecord): components["schemas"]["IsolationReport"] {
  const limits = toEnforcedLimits(report, record.limits);
  return {
    level: report.level,
    runtime: report.runtime,
    runtimeVersion: report.runtimeVersion,
    namespaces: [...report.namespaces],
    hostUidOfRoot: report.hostUidOfRoot,
    seccomp: report.seccomp,
    limits,
    network: isCutOff(record) ? "none" : "proxy",
    caveats: [
      ...report.caveats,
      ...(limits.diskMB === undefined ? [NO_DISK_LIMIT] : []),
      ...(record.accessToken === undefined ? [OPEN] : []),
    ],
  };
}

/** Without a way out at all; every other sandbox has the proxy, which decides about each connection. */
function isCutOff({ allowInternetAccess, network }: SandboxRecord): boolean {
  return allowInternetAccess === false && (network.allowOut ?? []).length === 0;
}

const NO_DISK_LIMIT = "There is no limit of what the sandbox writes: it can fill the disk of this machine.";
const OPEN = "The daemon asks for no token: whoever reaches the platform can use this sandbox.";
