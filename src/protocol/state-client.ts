import type { components } from "../../gen/openapi/lifecycle.js";
import { ProtocolError } from "../errors/error-classes.js";
import { errorFromReason } from "../errors/error-from-reason.js";
import { isErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { reasonOfHttpStatus } from "../errors/status-map.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestClient } from "../transport/rest.js";
import { toAccess } from "./lifecycle-client.js";
import type { Page, SandboxAccess } from "./lifecycle-types.js";
import { onSandbox } from "./on-sandbox.js";
import type { SnapshotInfo } from "./state-types.js";

type Schemas = components["schemas"];

/** Which snapshots to list. */
export interface SnapshotListOptions extends RequestOptions {
  readonly sandboxId?: string | undefined;
  readonly name?: string | undefined;
  readonly limit?: number | undefined;
  readonly nextToken?: string | undefined;
}

/** What became of a fork. */
export interface ForkAnswer {
  readonly copies: readonly (SandboxAccess | SandboxError)[];
  /** The copies have the memory of the source; false when they were started from its files. */
  readonly memory: boolean;
}

/** The operations that set sandboxes aside and copy them, in domain terms. */
export interface StateClient {
  /** False when it was paused already. */
  pause(sandboxId: string, keepMemory: boolean | undefined, options: RequestOptions): Promise<boolean>;
  fork(
    sandboxId: string,
    copies: { readonly timeoutMs?: number | undefined; readonly count?: number | undefined },
    options: RequestOptions,
  ): Promise<ForkAnswer>;
  createSnapshot(sandboxId: string, name: string | undefined, options: RequestOptions): Promise<SnapshotInfo>;
  listSnapshots(options: SnapshotListOptions): Promise<Page<SnapshotInfo>>;
  /** False when there was none. */
  deleteSnapshot(snapshotId: string, options: RequestOptions): Promise<boolean>;
}

/** Put the states of sandboxes into domain terms. */
export function createStateClient(rest: RestClient): StateClient {
  return {
    async pause(sandboxId, keepMemory, options) {
      const call = onSandbox("sandbox.pause", sandboxId, options);
      const body = keepMemory === undefined ? {} : { memory: keepMemory };
      return unless("failed_precondition", async () => {
        await rest.call(call, (client) => client.POST("/sandboxes/{sandboxID}/pause", { params: toPath(sandboxId), body }));
      });
    },
    async fork(sandboxId, { timeoutMs, count }, options) {
      const call = onSandbox("sandbox.fork", sandboxId, options, false);
      const body = { ...(timeoutMs !== undefined && { timeout: Math.ceil(timeoutMs / 1000) }), ...(count !== undefined && { count }) };
      const { data, header } = await rest.call(call, (client) =>
        client.POST("/sandboxes/{sandboxID}/fork", { params: toPath(sandboxId), body }),
      );
      if (!Array.isArray(data)) throw new ProtocolError("sandbox.fork: the answer is not a list", { operation: call.operation, sandboxId });
      const copies = data.map(({ sandbox, error }) =>
        sandbox === undefined ? toForkError(error, sandboxId) : toAccess({ data: sandbox, header }, call.operation),
      );
      // A server that does not say copies memory, as the contract has it.
      return { copies, memory: header("agent-sandbox-fork-memory") !== "false" };
    },
    async createSnapshot(sandboxId, name, options) {
      const call = onSandbox("sandbox.createSnapshot", sandboxId, options, false);
      const { data } = await rest.call(call, (client) =>
        client.POST("/sandboxes/{sandboxID}/snapshots", { params: toPath(sandboxId), body: name === undefined ? {} : { name } }),
      );
      if (!data?.snapshotID) throw new ProtocolError(`${call.operation}: the answer describes no snapshot`, { operation: call.operation });
      return toSnapshot(data);
    },
    async listSnapshots({ sandboxId, name, limit, nextToken, ...options }) {
      const call = { ...options, operation: "sandbox.listSnapshots", isIdempotent: true };
      const query = {
        ...(sandboxId !== undefined && { sandboxID: sandboxId }),
        ...(name !== undefined && { name }),
        ...(limit !== undefined && { limit }),
        ...(nextToken !== undefined && { nextToken }),
      };
      const { data, header } = await rest.call(call, (client) => client.GET("/snapshots", { params: { query } }));
      if (!Array.isArray(data)) throw new ProtocolError(`${call.operation}: the answer is not a list`, { operation: call.operation });
      return { items: data.map(toSnapshot), nextToken: header("x-next-token") || undefined };
    },
    async deleteSnapshot(snapshotId, options) {
      const call = { ...options, operation: "sandbox.deleteSnapshot", notFound: "template_not_found", isIdempotent: true } as const;
      return unless("template_not_found", async () => {
        const params = { path: { templateID: snapshotId } };
        await rest.call(call, (client) => client.DELETE("/templates/{templateID}", { params }));
      });
    },
  };
}

/** True when the call succeeds, false when it fails for this reason. */
async function unless(reason: SandboxError["reason"], call: () => Promise<void>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === reason) return false;
    throw error;
  }
}

function toForkError(error: Schemas["Error"] | undefined, sandboxId: string): SandboxError {
  const code = error?.code ?? 500;
  const reason = isErrorReason(error?.error_code) ? error.error_code : reasonOfHttpStatus(code);
  const message = `sandbox.fork failed for one copy: ${error?.message ?? "the server did not say why"}`;
  return errorFromReason(reason, message, { operation: "sandbox.fork", sandboxId, statusCode: code });
}

function toSnapshot({ snapshotID, names }: Schemas["SnapshotInfo"]): SnapshotInfo {
  return { snapshotId: snapshotID, names: names ?? [] };
}

function toPath(sandboxId: string) {
  return { path: { sandboxID: sandboxId } };
}
