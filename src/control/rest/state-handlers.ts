import type { components } from "../../../gen/openapi/lifecycle.js";
import { fromListToken, toListToken } from "../list-cursor.js";
import { parseSandboxId } from "../sandbox-id.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import { type SnapshotRecord, toSnapshotId } from "../snapshots/snapshot-record.js";
import type { SnapshotFilter } from "../snapshots/snapshot-store.js";
import type { ForkOutcome, Snapshots } from "../snapshots/snapshots.js";
import { parseTemplateReference } from "../templates/template-reference.js";
import { filledIn } from "./filled-in.js";
import { toErrorAnswer } from "./json-answer.js";
import type { Handlers } from "./operation-types.js";
import { DAEMON_FACTS, toSandbox } from "./sandbox-wire.js";

export interface StateHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly snapshots: Snapshots;
  /** Domain of the hosts of sandboxes, with the port. */
  readonly domain: () => string;
}

type Wire = components["schemas"];
type StateOperation = "pauseSandbox" | "resumeSandbox" | "forkSandbox" | "createSnapshot" | "listSnapshots";

/** Operations that set sandboxes aside and copy them. */
export function createStateHandlers({ sandboxes, snapshots, domain }: StateHandlerParts): Pick<Handlers, StateOperation> {
  const toCopy = (outcome: ForkOutcome): Wire["ForkedSandbox"] =>
    "record" in outcome ? { sandbox: toSandbox(outcome.record, domain()) } : { error: toErrorAnswer(outcome.error).body as Wire["Error"] };
  return {
    pauseSandbox: async ({ path, body }) => {
      await sandboxes.pause(parseSandboxId(path.sandboxID), filledIn(body.memory));
      return { status: 204 };
    },
    resumeSandbox: async ({ path, body }) => {
      const options = { timeoutMs: filledIn(body.timeout) * 1000, wantsMemory: filledIn(body.memory) };
      const record: SandboxRecord = await sandboxes.resume(parseSandboxId(path.sandboxID), options);
      return { status: 201, headers: DAEMON_FACTS, body: toSandbox(record, domain()) };
    },
    forkSandbox: async ({ path, body, signal }) => {
      const id = parseSandboxId(path.sandboxID);
      const outcomes = await snapshots.fork(sandboxes, id, filledIn(body.count), filledIn(body.timeout) * 1000, signal);
      return { status: 201, headers: { ...DAEMON_FACTS, "Agent-Sandbox-Fork-Memory": "false" }, body: outcomes.map(toCopy) };
    },
    createSnapshot: async ({ path, body }) => {
      const snapshot = await snapshots.create(sandboxes, parseSandboxId(path.sandboxID), body.name);
      return { status: 201, body: toSnapshotInfo(snapshot) };
    },
    listSnapshots: ({ query }) => {
      const after = query.nextToken === undefined ? undefined : fromListToken(query.nextToken, "desc");
      const position = after && { createdAt: after.startedAt, id: after.id };
      const { records, hasMore } = snapshots.list(toFilter(query), position, filledIn(query.limit));
      const last = records.at(-1);
      const headers: Record<string, string> =
        hasMore && last ? { "X-Next-Token": toListToken({ id: last.id, startedAt: last.createdAt }, "desc") } : {};
      return { status: 200, headers, body: records.map(toSnapshotInfo) };
    },
  };
}

function toFilter({ sandboxID, name }: { readonly sandboxID?: string; readonly name?: string }): SnapshotFilter {
  const reference = name === undefined ? undefined : parseTemplateReference(name);
  return {
    sandboxId: sandboxID === undefined ? undefined : parseSandboxId(sandboxID),
    name: reference?.name,
    tag: name?.includes(":") ? reference?.tag : undefined,
  };
}

function toSnapshotInfo(snapshot: SnapshotRecord): Wire["SnapshotInfo"] {
  const id = toSnapshotId(snapshot);
  return { snapshotID: id, names: snapshot.name === undefined ? [] : [id.slice(0, id.indexOf(":"))] };
}
