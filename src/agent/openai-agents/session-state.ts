import type { ExposedPortEndpoint, Manifest, SandboxSessionState, Snapshot, SnapshotSpec } from "@openai/agents-core/sandbox";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { fromManifestRecord, isRecord, keptEnvironment, resolveEnvironment, toManifestRecord } from "./manifest-record.js";

/** What identifies a session. It names the sandbox and holds no key: who resumes it needs a client with settings of its own. */
export interface AgentSandboxSessionState extends SandboxSessionState {
  manifest: Manifest;
  /** Id of the sandbox. */
  sandboxId: string;
  /** Values of the variables of the manifest. */
  environment: Record<string, string>;
  /** At the end of the session the sandbox is paused, not killed. */
  pauseOnExit: boolean;
  /** What was kept of the session when its state was last serialised. */
  snapshot?: Snapshot | null;
  /** What is kept when the state is serialised; a live object, which is no part of what is serialised. */
  snapshotSpec?: SnapshotSpec | null;
}

/** The state as JSON. */
export function toStateRecord(state: AgentSandboxSessionState): Record<string, unknown> {
  const { manifest, sandboxId, environment, pauseOnExit, snapshot, workspaceReady, exposedPorts } = state;
  return {
    manifest: toManifestRecord(manifest),
    sandboxId,
    environment: keptEnvironment(manifest, environment),
    pauseOnExit,
    snapshot: snapshot ?? null,
    workspaceReady: workspaceReady ?? true,
    ...(exposedPorts !== undefined && { exposedPorts: structuredClone(exposedPorts) }),
  };
}

/**
 * The state of a record that {@link toStateRecord} made, with variables resolved again that were not kept.
 *
 * @throws {@link InvalidArgumentError} it names no sandbox.
 */
export async function fromStateRecord(record: Readonly<Record<string, unknown>>): Promise<AgentSandboxSessionState> {
  const { sandboxId, snapshot, exposedPorts, environment } = record;
  if (typeof sandboxId !== "string" || sandboxId === "") {
    throw new InvalidArgumentError("the state of the session has no sandboxId: it is not one that AgentSandboxClient serialised");
  }
  const manifest = fromManifestRecord(record.manifest);
  return {
    manifest,
    sandboxId,
    environment: await resolveEnvironment(manifest, isRecord(environment) ? environment : {}),
    pauseOnExit: record.pauseOnExit === true,
    snapshot: isSnapshot(snapshot) ? snapshot : null,
    workspaceReady: record.workspaceReady !== false,
    ...(isRecord(exposedPorts) && { exposedPorts: exposedPorts as Record<string, ExposedPortEndpoint> }), // as it was serialised
  };
}

function isSnapshot(value: unknown): value is Snapshot {
  return isRecord(value) && typeof value.id === "string" && typeof value.type === "string";
}
