import { openHttpClient } from "#runtime";
import type { components, paths } from "../../gen/openapi/fc-control.js";
import { ProtocolError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { type AccessKey, createSigningHttpClient } from "../transport/acs3.js";
import { type ConnectionOptions, checkTimeoutMs, type RequestOptions } from "../transport/config.js";
import { createFetchClient } from "../transport/http-fetch.js";
import { toSafeLogger } from "../transport/logger.js";
import { createRestClient, type RestCallOptions } from "../transport/rest.js";

/** An access key of Alibaba Cloud. */
export type FcAccessKey = AccessKey;

type Schemas = components["schemas"];

/** An API key that was made for a while. */
export interface FcApiKey {
  readonly apiKeyId: string;
  readonly value: string;
  readonly expiresAt: Date;
}

/** An API key of the account, without its value. */
export interface FcApiKeyInfo {
  readonly apiKeyId: string;
  readonly name: string;
  /** Absent for a key that does not expire. */
  readonly expiresAt: Date | undefined;
}

/** How a template of the account is made; see `createTemplate` in openapi/fc-control.yaml. */
export type FcTemplateSpec = Schemas["NewTemplate"];

/** How the newest build of a template goes. */
export interface FcTemplateInfo {
  readonly templateId: string;
  readonly name: string | undefined;
  /** `ready` and `error` are the last. */
  readonly state: string;
  /** Why it failed. */
  readonly message: string | undefined;
}

/** Any operation of the account's control plane. */
export interface FcCall {
  /** Name with a capital first letter, such as `ListTeams`. */
  readonly action: string;
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path with its prefix, `/pop/2026-05-09/…`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** The control plane of the account. Calls are signed and carry no API key. */
export interface FcControlClient {
  /** Make a key. Its value is in this answer and in no later one. */
  createApiKey(key: { readonly name: string; readonly expiresAt: Date }, options?: RequestOptions): Promise<FcApiKey>;
  /** Every key of the account, page by page. */
  listApiKeys(options?: RequestOptions): AsyncIterable<FcApiKeyInfo>;
  /** False when there was none. */
  deleteApiKey(apiKeyId: string, options?: RequestOptions): Promise<boolean>;
  /** Resolves to the id; the build goes on. */
  createTemplate(spec: FcTemplateSpec, options?: RequestOptions): Promise<string>;
  /** Facts and state of a template. @throws {@link NotFoundError} there is none. */
  getTemplate(templateId: string, options?: RequestOptions & { readonly teamId?: string | undefined }): Promise<FcTemplateInfo>;
  /** False when there was none. */
  deleteTemplate(templateId: string, options?: RequestOptions & { readonly teamId?: string | undefined }): Promise<boolean>;
  /** Call an operation that has no method here; resolves to its JSON answer. */
  call(call: FcCall, options?: RequestOptions): Promise<unknown>;
}

/** How the control plane is reached. */
export interface FcControlOptions
  extends Pick<ConnectionOptions, "requestTimeoutMs" | "proxy" | "retries" | "logger" | "telemetry" | "fetch"> {
  readonly controlUrl: string;
  readonly accessKey: AccessKey;
}

/** Version of the API that openapi/fc-control.yaml describes. */
export const FC_CONTROL_VERSION = "2026-05-09";

const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 3;
const PAGE_SIZE = 50;

/** Open a client; nothing is sent yet. */
export function createFcControlClient(options: FcControlOptions): FcControlClient {
  const { fetch, proxy, controlUrl, accessKey } = options;
  const http = fetch === undefined ? openHttpClient({ proxy }) : createFetchClient(() => fetch);
  const rest = createRestClient<paths>({
    http: createSigningHttpClient(http, FC_CONTROL_VERSION, accessKey),
    baseUrl: controlUrl.replace(/\/+$/, ""),
    apiKey: { isSigned: true },
    apiHeaders: {},
    requestTimeoutMs: checkTimeoutMs("requestTimeoutMs", options.requestTimeoutMs) ?? DEFAULT_REQUEST_TIMEOUT_MS,
    retries: options.retries ?? DEFAULT_RETRIES,
    logger: toSafeLogger(options.logger),
    telemetry: options.telemetry,
  });

  return {
    async createApiKey({ name, expiresAt }, request = {}) {
      const { call, headers } = toCall("CreateApiKey", request, false);
      const body = { apiKeyName: name, expireTime: toWireTime(expiresAt) };
      const { data } = await rest.call(call, (client) => client.POST("/pop/2026-05-09/api-keys", { headers, body }));
      const { apiKeyID, apiKeyValue, expireTime } = data?.apiKey ?? {};
      if (!apiKeyID || !apiKeyValue) throw new ProtocolError(`${call.operation}: the answer has no key`, { operation: call.operation });
      const told = new Date(expireTime ?? Number.NaN);
      return { apiKeyId: apiKeyID, value: apiKeyValue, expiresAt: Number.isNaN(told.getTime()) ? expiresAt : told };
    },
    async *listApiKeys(request = {}) {
      for (let pageNumber = 1, seen = 0; ; pageNumber += 1) {
        const { call, headers } = toCall("ListApiKeys", request, true);
        const params = { query: { pageNumber, pageSize: PAGE_SIZE } };
        const { data } = await rest.call(call, (client) => client.GET("/pop/2026-05-09/api-keys", { headers, params }));
        const keys = data?.apiKeys ?? [];
        for (const key of keys) yield toKeyInfo(key);
        seen += keys.length;
        if (keys.length === 0 || seen >= (data?.total ?? 0)) return;
      }
    },
    deleteApiKey(apiKeyId, request = {}) {
      const { call, headers } = toCall("DeleteApiKey", request, true);
      const params = { path: { apiKeyID: apiKeyId } };
      return unlessMissing(() => rest.call(call, (client) => client.DELETE("/pop/2026-05-09/api-keys/{apiKeyID}", { headers, params })));
    },
    async createTemplate(body, request = {}) {
      const { call, headers } = toCall("CreateTemplate", request, false);
      const { data } = await rest.call(call, (client) => client.POST("/pop/2026-05-09/templates", { headers, body }));
      if (!data?.templateID) throw new ProtocolError(`${call.operation}: the answer names no template`, { operation: call.operation });
      return data.templateID;
    },
    async getTemplate(templateId, { teamId, ...request } = {}) {
      const { call, headers } = toCall("GetTemplate", request, true);
      const params = toTemplateParams(templateId, teamId);
      const { data } = await rest.call(call, (client) => client.GET("/pop/2026-05-09/templates/{templateID}", { headers, params }));
      const state = data?.status?.state;
      if (!state) throw new ProtocolError(`${call.operation}: the answer has no status`, { operation: call.operation });
      return { templateId, name: data?.name, state, message: data?.status?.reason?.message };
    },
    deleteTemplate(templateId, { teamId, ...request } = {}) {
      const { call, headers } = toCall("DeleteTemplate", request, true);
      const params = toTemplateParams(templateId, teamId);
      return unlessMissing(() => rest.call(call, (client) => client.DELETE("/pop/2026-05-09/templates/{templateID}", { headers, params })));
    },
    async call({ action, method, path, query, body }, request = {}) {
      const { call, headers } = toCall(action, request, method !== "POST");
      // Only paths of the contract have types here; any other takes and gives plain JSON.
      type AnyCall = (path: string, init: object) => Promise<{ data?: unknown }>;
      const { data } = await rest.call(call, (client) =>
        (client[method] as unknown as AnyCall)(path, { headers, body, params: { query: query ?? {} } }),
      );
      return data;
    },
  };
}

function toKeyInfo({ apiKeyID = "", apiKeyName = "", expireTime }: Schemas["ApiKey"]): FcApiKeyInfo {
  return { apiKeyId: apiKeyID, name: apiKeyName, expiresAt: expireTime ? new Date(expireTime) : undefined };
}

function toCall(action: string, options: RequestOptions, isIdempotent: boolean) {
  const operation = `fc.${action.charAt(0).toLowerCase()}${action.slice(1)}`;
  const call: RestCallOptions = { signal: options.signal, requestTimeoutMs: options.requestTimeoutMs, operation, isIdempotent };
  return { call, headers: { "x-acs-action": action } };
}

function toTemplateParams(templateID: string, teamID: string | undefined) {
  return { path: { templateID }, query: teamID === undefined ? {} : { teamID } };
}

/** RFC 3339 with whole seconds, as this API writes times. */
function toWireTime(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

async function unlessMissing(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "not_found") return false;
    throw error;
  }
}
