import type { operations } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import type { Creations } from "../creations.js";
import { assertIsolation } from "../isolation.js";
import { fromListToken, toListToken } from "../list-cursor.js";
import { parseMetadataFilter } from "../metadata-filter.js";
import { parseSandboxId } from "../sandbox-id.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import type { Secrets } from "../secrets/secrets.js";
import { PAUSED_STATES, RUNNING_STATES } from "../state-machine.js";
import type { ListFilter } from "../store.js";
import type { TemplateResolver } from "../template-resolver.js";
import { filledIn } from "./filled-in.js";
import { createIsolationHandlers, type IsolationHandlerParts } from "./isolation-handlers.js";
import { createNetworkHandlers, type NetworkHandlerParts } from "./network-handlers.js";
import { toNewSandbox } from "./new-sandbox.js";
import type { Handlers, OperationAnswer, OperationRequest } from "./operation-types.js";
import { createPlatformHandlers, type PlatformHandlerParts } from "./platform-handlers.js";
import { createRecordHandlers, type RecordHandlerParts } from "./record-handlers.js";
import { DAEMON_FACTS, toListedSandbox, toSandbox, toSandboxDetail } from "./sandbox-wire.js";
import { createSecretHandlers } from "./secret-handlers.js";
import { createStateHandlers, type StateHandlerParts } from "./state-handlers.js";
import { createTemplateHandlers, type TemplateHandlerParts } from "./template-handlers.js";
import { createVolumeHandlers, resolveMounts, type VolumeHandlerParts } from "./volume-handlers.js";

export interface HandlerParts
  extends PlatformHandlerParts,
    StateHandlerParts,
    RecordHandlerParts,
    TemplateHandlerParts,
    IsolationHandlerParts,
    VolumeHandlerParts,
    NetworkHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly creations: Creations;
  readonly templates: TemplateResolver;
  readonly secrets: Secrets;
  /** Domain of the hosts of sandboxes, with the port. */
  readonly domain: () => string;
}

type CreateRequest = OperationRequest<operations["createSandbox"]> | OperationRequest<operations["createSandboxV2"]>;

/** Shortest prolongation of a refresh. */
const MIN_REFRESH_S = 15;

/** The operations of the contract, on top of the service that keeps the sandboxes. */
export function createHandlers(parts: HandlerParts): Handlers {
  const { sandboxes, creations, templates, secrets, domain } = parts;
  const create = async (request: CreateRequest, isSecure: boolean) => {
    const { body, header, signal } = request;
    const mounts = resolveMounts(body, parts, request.isSameMachine);
    if (body.minimumIsolation !== undefined) assertIsolation((await parts.isolation()).level, body.minimumIsolation);
    const record = await creations.create(toNewSandbox(body, isSecure, mounts), header["Idempotency-Key"], signal);
    parts.table.countSpawn(record.templateId);
    return { status: 201, headers: DAEMON_FACTS, body: toSandbox(record, domain()) } as const;
  };
  const connect = async (sandboxId: string, timeoutS: number, wantsMemory: boolean) => {
    const { record, wasPaused } = await sandboxes.connect(parseSandboxId(sandboxId), { timeoutMs: timeoutS * 1000, wantsMemory });
    return { status: wasPaused ? 201 : 200, headers: DAEMON_FACTS, body: toSandbox(record, domain()) } as const;
  };
  return {
    ...createTemplateHandlers(parts),
    ...createIsolationHandlers(parts),
    ...createVolumeHandlers(parts),
    ...createNetworkHandlers(parts),
    ...createSecretHandlers(secrets),
    ...createStateHandlers(parts),
    ...createRecordHandlers(parts),
    ...createPlatformHandlers(parts),
    createSandbox: (request) => create(request, request.body.secure === true),
    createSandboxV2: (request) => create(request, true),
    listSandboxes: ({ query }) => listSandboxes(query, sandboxes, templates),
    getSandbox: ({ path }) => ({ status: 200, body: toSandboxDetail(sandboxes.get(parseSandboxId(path.sandboxID)), domain()) }),
    killSandbox: async ({ path }) => {
      await sandboxes.kill(parseSandboxId(path.sandboxID));
      return { status: 204 };
    },
    connectSandbox: ({ path, body }) => connect(path.sandboxID, body.timeout, filledIn(body.memory)),
    connectSandboxV2: ({ path, body }) => connect(path.sandboxID, filledIn(body.timeout), filledIn(body.memory)),
    setSandboxTimeout: async ({ path, body }) => {
      await sandboxes.setTimeout(parseSandboxId(path.sandboxID), body.timeout * 1000);
      return { status: 204 };
    },
    refreshSandbox: async ({ path, body }) => {
      await sandboxes.refresh(parseSandboxId(path.sandboxID), Math.max(filledIn(body.duration), MIN_REFRESH_S) * 1000);
      return { status: 204 };
    },
  };
}

type ListQueryWire = OperationRequest<operations["listSandboxes"]>["query"];

function listSandboxes(
  query: ListQueryWire,
  sandboxes: Sandboxes,
  templates: TemplateResolver,
): OperationAnswer<operations["listSandboxes"]> {
  const order = filledIn(query.order);
  const after = query.nextToken === undefined ? undefined : fromListToken(query.nextToken, order);
  const wantsRunning = query.state === undefined || query.state.includes("running");
  const filter = toFilter(query, templates);
  if (filter === undefined) return { status: 200, headers: wantsRunning ? { "X-Total-Running": "0" } : {}, body: [] };
  const page = sandboxes.list({ ...filter, order, after, limit: filledIn(query.limit) });
  const last: SandboxRecord | undefined = page.records.at(-1);
  const headers: Record<string, string> = wantsRunning ? { "X-Total-Running": String(sandboxes.countRunning(filter)) } : {};
  if (page.hasMore && last !== undefined) headers["X-Next-Token"] = toListToken(last, order);
  return { status: 200, headers, body: page.records.map(toListedSandbox) };
}

/** `undefined` when nothing can match. */
function toFilter(query: ListQueryWire, templates: TemplateResolver): ListFilter | undefined {
  const templateId = query.template === undefined ? undefined : findTemplate(query.template, templates);
  if (query.template !== undefined && templateId === undefined) return undefined;
  return {
    states: (query.state ?? ["running", "paused"]).flatMap((state) => (state === "running" ? RUNNING_STATES : PAUSED_STATES)),
    metadata: query.metadata === undefined ? undefined : parseMetadataFilter(query.metadata),
    startedAfter: query.startedAfter === undefined ? undefined : new Date(query.startedAfter),
    templateId,
  };
}

function findTemplate(reference: string, templates: TemplateResolver): string | undefined {
  if (reference.includes(":")) throw new InvalidArgumentError(`template must be an id or alias without a tag, got "${reference}"`);
  try {
    return templates.resolve(reference).templateId;
  } catch (error) {
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}
