import {
  isNoopSnapshotSpec,
  type RemoteSnapshotSpec,
  type RemoteSnapshotStore,
  SandboxSnapshotNotRestorableError,
  SandboxSnapshotPersistError,
  SandboxUnsupportedFeatureError,
  type Snapshot,
  type SnapshotSpec,
} from "@openai/agents-core/sandbox";
import { Sandbox } from "../../sandbox/sandbox.js";
import { messageOf } from "../../shared/message-of.js";
import { type AgentSandboxClientOptions, toCreateOptions } from "./client-options.js";
import { isRecord } from "./manifest-record.js";
import { prepareWorkspace } from "./prepare-workspace.js";
import type { AgentSandboxSessionState } from "./session-state.js";
import { archiveWorkspace, restoreWorkspace } from "./workspace-archive.js";

const TYPE = "agent_sandbox";
/** Begins an archive that only names a snapshot. */
const REFERENCE = "agent-sandbox-snapshot:";

/** Keep sessions as snapshots of the platform: everything in the sandbox, not only the workspace, at a cost that its size hardly changes. */
export interface AgentSandboxSnapshotSpec extends SnapshotSpec {
  type: typeof TYPE;
  /** Name of the snapshots; an older one of the same name loses it. @defaultValue none */
  name?: string;
}

/** The specification of snapshots of the platform. */
export function agentSandboxSnapshot(options: { readonly name?: string | undefined } = {}): AgentSandboxSnapshotSpec {
  return { type: TYPE, ...(options.name !== undefined && { name: options.name }) };
}

/** Whether sessions are kept. @throws `SandboxUnsupportedFeatureError` in a way that is not possible here */
export function keepsSnapshots(spec: SnapshotSpec | null | undefined): spec is SnapshotSpec {
  if (spec == null || isNoopSnapshotSpec(spec)) return false;
  if (spec.type === TYPE || isRemoteSpec(spec)) return true;
  throw new SandboxUnsupportedFeatureError(
    `AgentSandboxClient makes no snapshots of the type ${JSON.stringify(spec.type)}: use agentSandboxSnapshot(), or "remote" with a store`,
    { feature: "snapshot", type: spec.type },
  );
}

/** Keep what the sandbox of a session holds. @throws `SandboxSnapshotPersistError` */
export async function saveSnapshot(
  state: AgentSandboxSessionState,
  spec: SnapshotSpec,
  options: AgentSandboxClientOptions,
): Promise<Snapshot> {
  try {
    const { state: lifeState } = await Sandbox.getInfo(state.sandboxId, toCreateOptions(options));
    const sandbox = await Sandbox.connect(state.sandboxId, toCreateOptions(options));
    try {
      return await keep(sandbox, state, spec);
    } finally {
      // Else its time would run on until it is over.
      if (lifeState === "paused") await sandbox.pause();
    }
  } catch (error) {
    throw new SandboxSnapshotPersistError(`sandbox ${state.sandboxId} cannot be kept as a snapshot: ${messageOf(error)}`, {
      sandboxId: state.sandboxId,
    });
  }
}

/** A new sandbox with what the snapshot of a state holds. @throws `SandboxSnapshotNotRestorableError` it has none, or it is gone */
export async function restoreSnapshot(
  state: AgentSandboxSessionState,
  options: AgentSandboxClientOptions,
  spec: SnapshotSpec | null | undefined,
): Promise<Sandbox> {
  const { snapshot, manifest } = state;
  const cannot = (why: string) =>
    new SandboxSnapshotNotRestorableError(`sandbox ${state.sandboxId} of the session has ended, and ${why}`, {
      sandboxId: state.sandboxId,
    });
  if (snapshot == null) throw cannot("the state has no snapshot: its files are gone");
  if (snapshot.type === TYPE) return createFromSnapshot(snapshot.id, options);
  if (snapshot.type !== "remote" || !isRemoteSpec(spec)) {
    throw cannot(`its snapshot ${snapshot.id} is in a store that the option snapshot of the client has to give`);
  }
  const { data } = await spec.store.load({ id: snapshot.id });
  return createWith(options, async (sandbox) => {
    await prepareWorkspace(sandbox, manifest);
    await restoreWorkspace(sandbox, manifest.root, data, options.archiveLimits);
  });
}

/** An archive that names a new snapshot of the sandbox. */
export async function toSnapshotReference(sandbox: Sandbox): Promise<Uint8Array> {
  return new TextEncoder().encode(`${REFERENCE}${(await snapshotOf(sandbox)).id}`);
}

/** The snapshot that an archive names, where it does. */
export function fromSnapshotReference(data: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(data.subarray(0, 1024));
  return text.startsWith(REFERENCE) ? text.slice(REFERENCE.length).trim() : undefined;
}

export function createFromSnapshot(snapshotId: string, options: AgentSandboxClientOptions): Promise<Sandbox> {
  return Sandbox.create({ ...toCreateOptions(options), template: snapshotId });
}

/** A new sandbox that is killed when what is to be done with it first fails. */
export async function createWith(options: AgentSandboxClientOptions, prepare: (sandbox: Sandbox) => Promise<void>): Promise<Sandbox> {
  const sandbox = await Sandbox.create(toCreateOptions(options));
  try {
    await prepare(sandbox);
    return sandbox;
  } catch (error) {
    await sandbox.kill().catch(() => {});
    throw error;
  }
}

async function keep(sandbox: Sandbox, { manifest }: AgentSandboxSessionState, spec: SnapshotSpec): Promise<Snapshot> {
  if (!isRemoteSpec(spec)) return snapshotOf(sandbox, typeof spec.name === "string" ? spec.name : undefined);
  const data = await archiveWorkspace(sandbox, manifest);
  const { id, metadata } = await spec.store.save({ id: spec.id, data, metadata: spec.metadata });
  return { id, type: "remote", ...(metadata !== undefined && { metadata }) };
}

async function snapshotOf(sandbox: Sandbox, name?: string): Promise<Snapshot> {
  const { snapshotId } = await sandbox.createSnapshot({ name });
  return { id: snapshotId, type: TYPE };
}

function isRemoteSpec(spec: SnapshotSpec | null | undefined): spec is RemoteSnapshotSpec {
  return spec?.type === "remote" && isRecord(spec.store) && typeof (spec.store as Partial<RemoteSnapshotStore>).save === "function";
}
