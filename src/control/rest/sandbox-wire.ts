import type { components } from "../../../gen/openapi/lifecycle.js";
import { NetworkPolicy } from "../egress/network-policy.js";
import { CLIENT_ID } from "../sandbox-id.js";
import { type SandboxRecord, toEgressConfig } from "../sandbox-record.js";
import { PAUSED_STATES } from "../state-machine.js";
import { toNetworkWire } from "./network-body.js";

type Wire = components["schemas"];

/** The daemon of every sandbox here is ours: it takes binary messages and has services beside those of the shared wire. */
export const DAEMON_FACTS = { "Agent-Sandbox-Encoding": "binary", "Agent-Sandbox-Services": "process.v1, pty.v1" } as const;

/** What create and connect answer. */
export function toSandbox(record: SandboxRecord, domain: string): Wire["Sandbox"] {
  return {
    templateID: record.templateId,
    sandboxID: record.id,
    clientID: CLIENT_ID,
    envdVersion: record.envdVersion,
    ...(record.alias === undefined ? {} : { alias: record.alias }),
    ...(record.accessToken === undefined ? {} : { envdAccessToken: record.accessToken }),
    trafficAccessToken: record.trafficAccessToken ?? null,
    domain,
  };
}

/** One element of a list. */
export function toListedSandbox(record: SandboxRecord): Wire["ListedSandbox"] {
  return {
    templateID: record.templateId,
    ...(record.alias === undefined ? {} : { alias: record.alias }),
    sandboxID: record.id,
    clientID: CLIENT_ID,
    startedAt: record.startedAt.toISOString(),
    endAt: record.endAt.toISOString(),
    cpuCount: Math.ceil(record.limits.cpuCount),
    memoryMB: Math.round(record.limits.memoryBytes / (1024 * 1024)),
    diskSizeMB: record.diskSizeMb,
    state: PAUSED_STATES.includes(record.state) ? "paused" : "running",
    envdVersion: record.envdVersion,
    metadata: { ...record.metadata },
    volumeMounts: record.mounts.flatMap(({ volume, target }) => (volume === undefined ? [] : [{ name: volume.name, path: target }])),
  };
}

/** What info answers. */
export function toSandboxDetail(record: SandboxRecord, domain: string): Wire["SandboxDetail"] {
  return {
    ...toListedSandbox(record),
    ...(record.accessToken === undefined ? {} : { envdAccessToken: record.accessToken }),
    // Also when it is the rules that leave nothing open.
    allowInternetAccess: new NetworkPolicy(toEgressConfig(record)).isClosed ? false : (record.allowInternetAccess ?? null),
    domain,
    network: toNetworkWire(record.network),
    lifecycle: { autoResume: record.policy.autoResume, onTimeout: record.policy.onTimeout },
    memoryState: record.memory,
  };
}
