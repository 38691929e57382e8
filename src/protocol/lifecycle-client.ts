import type { components } from "../../gen/openapi/lifecycle.js";
import { ProtocolError, UnimplementedError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestCallOptions, RestClient } from "../transport/rest.js";
import type { RestAnswer } from "../transport/rest-request.js";
import type { HostMount, SandboxIsolation } from "./isolation-types.js";
import type { ConnectSpec, NewSandboxSpec, Page, SandboxAccess, SandboxInfo, SandboxPolicy, SandboxQuery } from "./lifecycle-types.js";
import { toNetwork, toNetworkWire } from "./network-client.js";
import { onSandbox } from "./on-sandbox.js";
import type { RouteMemory } from "./route-memory.js";

type Schemas = components["schemas"];

/** Life of a sandbox where neither the caller nor the route has a default. */
const DEFAULT_TIMEOUT_SECONDS = 300;
/** Answers that an older server gives for a route it does not have. */
const MISSING_ROUTE_STATUSES: readonly (number | undefined)[] = [404, 405, 501];

/** How a list is walked. */
export interface ListOptions extends RequestOptions {
  readonly query?: SandboxQuery | undefined;
  readonly order?: "asc" | "desc" | undefined;
  readonly limit?: number | undefined;
  readonly nextToken?: string | undefined;
}

/** How a creation is asked for. `onSend` is called right before the request leaves: from then on there may be a sandbox. */
export type CreationRequest = RequestOptions & Pick<RestCallOptions, "onSend">;

/** The lifecycle operations of the control plane in domain terms. */
export interface LifecycleClient {
  create(spec: NewSandboxSpec, options: CreationRequest): Promise<SandboxAccess>;
  connect(sandboxId: string, spec: ConnectSpec, options: RequestOptions): Promise<SandboxAccess>;
  list(options: ListOptions): Promise<Page<SandboxInfo>>;
  getInfo(sandboxId: string, options: RequestOptions): Promise<SandboxInfo>;
  getIsolation(sandboxId: string, options: RequestOptions): Promise<SandboxIsolation>;
  /** False when there was no such sandbox. */
  kill(sandboxId: string, options: RequestOptions): Promise<boolean>;
  setTimeout(sandboxId: string, timeoutMs: number, options: RequestOptions): Promise<void>;
}

/** What is known about a control plane beside its contract. */
export interface LifecycleFacts {
  readonly routes: RouteMemory;
  readonly baseUrl: string;
  /** It keeps the key of a creation, so that the creation may be repeated. */
  readonly keepsKeys: boolean;
  /** It wants each value of a list in the query under the name anew, and not all in one. */
  readonly repeatsNames: boolean;
}

/** Put the control plane into domain terms. */
export function createLifecycleClient(rest: RestClient, { routes, baseUrl, keepsKeys, repeatsNames }: LifecycleFacts): LifecycleClient {
  /**
   * Use the newest route and fall back to the older one where the server does not have it.
   *
   * Such an answer created nothing, so the second request is safe. Which one works is remembered per base URL.
   */
  async function newestRoute<T>(newest: () => Promise<T>, older: () => Promise<T>): Promise<T> {
    const known = routes.get(baseUrl);
    if (known === "older") return older();
    try {
      const answer = await newest();
      routes.set(baseUrl, "newest");
      return answer;
    } catch (error) {
      if (known === "newest" || !SandboxError.isInstance(error) || !MISSING_ROUTE_STATUSES.includes(error.statusCode)) throw error;
    }
    const answer = await older();
    routes.set(baseUrl, "older");
    return answer;
  }

  return {
    async create(spec, options) {
      // Only our platform is known to keep the key, so only there a lost connection may be followed by a second request.
      const call = {
        ...options,
        operation: "sandbox.create",
        templateId: spec.template,
        notFound: "template_not_found",
        isIdempotent: keepsKeys,
      } as const;
      const headers = { "Idempotency-Key": crypto.randomUUID() };
      const timeout = toSeconds(spec.timeoutMs);
      const body: Schemas["NewSandboxV2"] = {
        templateID: spec.template,
        ...(timeout !== undefined && { timeout }),
        ...(spec.metadata !== undefined && { metadata: spec.metadata }),
        ...(spec.envs !== undefined && { envVars: spec.envs }),
        ...(spec.allowInternetAccess !== undefined && { allow_internet_access: spec.allowInternetAccess }),
        ...(spec.volumeMounts !== undefined && { volumeMounts: [...spec.volumeMounts] }),
        ...(spec.mounts !== undefined && { mounts: spec.mounts.map(toWireMount) }),
        ...(spec.minimumIsolation !== undefined && { minimumIsolation: spec.minimumIsolation }),
        ...(spec.network !== undefined && { network: toNetworkWire(spec.network) }),
        ...(spec.policy !== undefined && toPolicyWire(spec.policy)),
      };
      const answer = await newestRoute(
        () => rest.call(call, (client) => client.POST("/v2/sandboxes", { headers, body })),
        () =>
          rest.call(call, (client) =>
            client.POST("/sandboxes", { headers, body: { ...body, secure: true, timeout: timeout ?? DEFAULT_TIMEOUT_SECONDS } }),
          ),
      );
      return toAccess(answer, call.operation);
    },
    async connect(sandboxId, { timeoutMs, wantsMemory }, options) {
      const call = onSandbox("sandbox.connect", sandboxId, options);
      const timeout = toSeconds(timeoutMs);
      const params = { path: { sandboxID: sandboxId } };
      const body = { ...(timeout !== undefined && { timeout }), ...(wantsMemory !== undefined && { memory: wantsMemory }) };
      const answer = await newestRoute(
        () => rest.call(call, (client) => client.POST("/v2/sandboxes/{sandboxID}/connect", { params, body })),
        () => {
          // Servers with the older route only may restore the memory and say nothing.
          if (wantsMemory === false) throw new UnimplementedError("this server cannot start a paused sandbox anew", call);
          return rest.call(call, (client) =>
            client.POST("/sandboxes/{sandboxID}/connect", { params, body: { timeout: timeout ?? DEFAULT_TIMEOUT_SECONDS } }),
          );
        },
      );
      return toAccess(answer, call.operation);
    },
    async list(options) {
      const { query = {} } = options;
      const call: RestCallOptions = { ...options, operation: "sandbox.list", isIdempotent: true };
      const { data, header } = await rest.call(call, (client) =>
        client.GET("/v2/sandboxes", {
          querySerializer: { array: { style: "form", explode: repeatsNames } },
          params: {
            query: {
              ...(query.metadata !== undefined && { metadata: encodeMetadata(query.metadata) }),
              ...(query.state !== undefined && { state: [...query.state] }),
              ...(query.startedAfter !== undefined && { startedAfter: query.startedAfter.toISOString() }),
              ...(query.template !== undefined && { template: query.template }),
              ...(options.order !== undefined && { order: options.order }),
              ...(options.limit !== undefined && { limit: options.limit }),
              ...(options.nextToken !== undefined && { nextToken: options.nextToken }),
            },
          },
        }),
      );
      if (!Array.isArray(data)) throw new ProtocolError(`${call.operation}: the answer is not a list`, { operation: call.operation });
      return { items: data.map(toInfo), nextToken: header("x-next-token") || undefined };
    },
    async getInfo(sandboxId, options) {
      const call = onSandbox("sandbox.getInfo", sandboxId, options);
      const { data } = await rest.call(call, (client) =>
        client.GET("/sandboxes/{sandboxID}", { params: { path: { sandboxID: sandboxId } } }),
      );
      if (!data?.sandboxID) throw new ProtocolError(`${call.operation}: the answer describes no sandbox`, { operation: call.operation });
      return toInfo(data);
    },
    async getIsolation(sandboxId, options) {
      const call = onSandbox("sandbox.getIsolation", sandboxId, options);
      const { data } = await rest.call(call, (client) =>
        client.GET("/sandboxes/{sandboxID}/isolation", { params: { path: { sandboxID: sandboxId } } }),
      );
      if (!data?.level) throw new ProtocolError(`${call.operation}: the answer is no report`, { operation: call.operation });
      return data;
    },
    async kill(sandboxId, options) {
      const call = onSandbox("sandbox.kill", sandboxId, options);
      try {
        await rest.call(call, (client) => client.DELETE("/sandboxes/{sandboxID}", { params: { path: { sandboxID: sandboxId } } }));
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "sandbox_not_found") return false;
        throw error;
      }
    },
    async setTimeout(sandboxId, timeoutMs, options) {
      const call = onSandbox("sandbox.setTimeout", sandboxId, options);
      await rest.call(call, (client) =>
        client.POST("/sandboxes/{sandboxID}/timeout", {
          params: { path: { sandboxID: sandboxId } },
          body: { timeout: Math.ceil(timeoutMs / 1000) },
        }),
      );
    },
  };
}

function toWireMount({ hostPath, path, readOnly }: HostMount): Schemas["HostMount"] {
  return { hostPath, path, ...(readOnly !== undefined && { readOnly }) };
}

function toPolicyWire({ onTimeout, keepMemory, autoResume }: SandboxPolicy) {
  return {
    autoPause: onTimeout === "pause",
    ...(keepMemory !== undefined && { autoPauseMemory: keepMemory }),
    ...(autoResume !== undefined && { autoResume: { enabled: autoResume } }),
  };
}

function toSeconds(timeoutMs: number | undefined): number | undefined {
  return timeoutMs === undefined ? undefined : Math.ceil(timeoutMs / 1000);
}

/** Keys and values are encoded here, the pairs by the form encoding, and the whole once more as a query value. */
function encodeMetadata(metadata: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(metadata).map(([key, value]) => [encodeURIComponent(key), encodeURIComponent(value)]);
  return new URLSearchParams(pairs).toString();
}

export function toAccess({ data, header }: RestAnswer<Schemas["Sandbox"]>, operation: string): SandboxAccess {
  if (typeof data?.sandboxID !== "string" || typeof data.envdVersion !== "string") {
    throw new ProtocolError(`${operation}: the answer describes no sandbox`, { operation });
  }
  return {
    sandboxId: data.sandboxID,
    templateId: data.templateID,
    envdVersion: data.envdVersion,
    accessToken: data.envdAccessToken || undefined,
    trafficAccessToken: data.trafficAccessToken || undefined,
    domain: data.domain || undefined,
    isBinary: header("agent-sandbox-encoding") === "binary",
    services: (header("agent-sandbox-services") ?? "").split(",").map((name) => name.trim()),
  };
}

function toInfo(wire: Schemas["ListedSandbox"] & Partial<Schemas["SandboxDetail"]>): SandboxInfo {
  return {
    sandboxId: wire.sandboxID,
    templateId: wire.templateID,
    ...(wire.alias !== undefined && { name: wire.alias }),
    metadata: wire.metadata ?? {},
    startedAt: new Date(wire.startedAt),
    endAt: new Date(wire.endAt),
    state: wire.state,
    cpuCount: wire.cpuCount,
    memoryMB: wire.memoryMB,
    envdVersion: wire.envdVersion,
    volumeMounts: wire.volumeMounts ?? [],
    ...(wire.allowInternetAccess != null && { allowInternetAccess: wire.allowInternetAccess }),
    ...(wire.domain != null && { sandboxDomain: wire.domain }),
    ...(wire.network !== undefined && { network: toNetwork(wire.network) }),
    ...(wire.lifecycle !== undefined && { lifecycle: wire.lifecycle }),
    ...(wire.memoryState !== undefined && { memoryState: wire.memoryState }),
  };
}
