import type { operations } from "../../../gen/openapi/lifecycle.js";
import { InvalidArgumentError, TemplateError } from "../../errors/error-classes.js";
import { assertIsolation } from "../isolation.js";
import { fromListToken, toListToken } from "../list-cursor.js";
import { parseMetadataFilter } from "../metadata-filter.js";
import { parseSandboxId } from "../sandbox-id.js";
import type { SandboxRecord } from "../sandbox-record.js";
import type { Sandboxes } from "../sandboxes.js";
import type { Secrets } from "../secrets/secrets.js";
import type { ListFilter } from "../store.js";
import type { TemplateResolver } from "../template-resolver.js";
import { filledIn } from "./filled-in.js";
import { createIsolationHandlers, type IsolationHandlerParts } from "./isolation-handlers.js";
import { createNetworkHandlers, type NetworkHandlerParts } from "./network-handlers.js";
import { toNewSandbox } from "./new-sandbox.js";
import type { Handlers, OperationAnswer, OperationRequest } from "./operation-types.js";
import { toListedSandbox, toSandbox, toSandboxDetail } from "./sandbox-wire.js";
import { createSecretHandlers } from "./secret-handlers.js";
import { createTemplateHandlers, type TemplateHandlerParts } from "./template-handlers.js";
import { createVolumeHandlers, resolveMounts, type VolumeHandlerParts } from "./volume-handlers.js";

export interface HandlerParts extends TemplateHandlerParts, IsolationHandlerParts, VolumeHandlerParts, NetworkHandlerParts {
  readonly sandboxes: Sandboxes;
  readonly templates: TemplateResolver;
  readonly secrets: Secrets;
  /** Domain of the hosts of sandboxes, with the port. */
  readonly domain: () => string;
}

type CreateRequest = OperationRequest<operations["createSandbox"]> | OperationRequest<operations["createSandboxV2"]>;

/** The daemon of every sandbox here is ours: it takes binary messages and has services beside those of the shared wire. */
const DAEMON_FACTS = { "Agent-Sandbox-Encoding": "binary", "Agent-Sandbox-Services": "process.v1, pty.v1" } as const;
/** Shortest prolongation of a refresh. */
const MIN_REFRESH_S = 15;

/** The operations of the contract, on top of the service that keeps the sandboxes. */
export function createHandlers(parts: HandlerParts): Handlers {
  const { sandboxes, templates, secrets, domain } = parts;
  const create = async (request: CreateRequest, isSecure: boolean) => {
    const { body, signal } = request;
    const mounts = resolveMounts(body, parts, request.isSameMachine);
    if (body.minimumIsolation !== undefined) assertIsolation((await parts.isolation()).level, body.minimumIsolation);
    const record = await sandboxes.create(toNewSandbox(body, isSecure, mounts), signal);
    parts.table.countSpawn(record.templateId);
    return { status: 201, headers: DAEMON_FACTS, body: toSandbox(record, domain()) } as const;
  };
  const connect = (sandboxId: string, timeoutS: number) => {
    const record = sandboxes.connect(parseSandboxId(sandboxId), timeoutS * 1000);
    return { status: 200, headers: DAEMON_FACTS, body: toSandbox(record, domain()) } as const;
  };
  return {
    ...createTemplateHandlers(parts),
    ...createIsolationHandlers(parts),
    ...createVolumeHandlers(parts),
    ...createNetworkHandlers(parts),
    ...createSecretHandlers(secrets),
    getHealth: () => ({ status: 204, headers: { "Cache-Control": "no-store" } }),
    createSandbox: (request) => create(request, request.body.secure === true),
    createSandboxV2: (request) => create(request, true),
    listSandboxes: ({ query }) => listSandboxes(query, sandboxes, templates),
    getSandbox: ({ path }) => ({ status: 200, body: toSandboxDetail(sandboxes.get(parseSandboxId(path.sandboxID)), domain()) }),
    killSandbox: async ({ path }) => {
      await sandboxes.kill(parseSandboxId(path.sandboxID));
      return { status: 204 };
    },
    connectSandbox: ({ path, body }) => connect(path.sandboxID, body.timeout),
    connectSandboxV2: ({ path, body }) => connect(path.sandboxID, filledIn(body.timeout)),
    setSandboxTimeout: async ({ path, body }) => {
      await sandboxes.setTimeout(parseSandboxId(path.sandboxID), body.timeout * 1000);
      return { status: 204 };
    },
    refreshSandbox: ({ path, body }) => {
      sandboxes.refresh(parseSandboxId(path.sandboxID), Math.max(filledIn(body.duration), MIN_REFRESH_S) * 1000);
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
  if (!wantsRunning || filter === undefined) {
    return { status: 200, headers: wantsRunning ? { "X-Total-Running": "0" } : {}, body: [] };
  }
  const page = sandboxes.list({ ...filter, order, after, limit: filledIn(query.limit) });
  const last: SandboxRecord | undefined = page.records.at(-1);
  const headers: Record<string, string> = { "X-Total-Running": String(sandboxes.countRunning(filter)) };
  if (page.hasMore && last !== undefined) headers["X-Next-Token"] = toListToken(last, order);
  return { status: 200, headers, body: page.records.map(toListedSandbox) };
}

/** `undefined` when nothing can match. */
function toFilter(query: ListQueryWire, templates: TemplateResolver): ListFilter | undefined {
  const templateId = query.template === undefined ? undefined : findTemplate(query.template, templates);
  if (query.template !== undefined && templateId === undefined) return undefined;
  return {
    states: ["running"],
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
