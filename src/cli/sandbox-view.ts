import type { SandboxInfo } from "../index.js";

/** One sandbox as JSON for programs; times are ISO 8601 in UTC. */
export function toSandboxJson(info: SandboxInfo): Record<string, unknown> {
  return {
    sandboxId: info.sandboxId,
    templateId: info.templateId,
    name: info.name ?? null,
    state: info.state,
    startedAt: info.startedAt.toISOString(),
    endAt: info.endAt.toISOString(),
    cpuCount: info.cpuCount,
    memoryMB: info.memoryMB,
    envdVersion: info.envdVersion,
    metadata: info.metadata,
    ...(info.memoryState !== undefined && { memoryState: info.memoryState }),
  };
}
