import type { components } from "../../gen/openapi/lifecycle.js";
import { ProtocolError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestClient } from "../transport/rest.js";
import type { Page } from "./lifecycle-types.js";

/** A secret without its value, which is never given back. */
export interface SecretInfo {
  readonly secretId: string;
  /** Lower case. */
  readonly name: string;
  /** Counts its values from 1. */
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The secrets of a control plane in domain terms. A `ref` is an id or a name. */
export interface SecretClient {
  create(name: string, value: string, metadata: Readonly<Record<string, string>> | undefined, options: RequestOptions): Promise<SecretInfo>;
  update(ref: string, value: string, metadata: Readonly<Record<string, string>> | undefined, options: RequestOptions): Promise<SecretInfo>;
  get(ref: string, options: RequestOptions): Promise<SecretInfo>;
  list(
    query: { readonly limit: number | undefined; readonly nextToken: string | undefined },
    options: RequestOptions,
  ): Promise<Page<SecretInfo>>;
  /** False when there was none. */
  delete(ref: string, options: RequestOptions): Promise<boolean>;
}

export function createSecretClient(rest: RestClient): SecretClient {
  return {
    async create(name, value, metadata, options) {
      const call = { ...options, operation: "secret.create", isIdempotent: false };
      const body = { name, value, ...(metadata !== undefined && { metadata: { ...metadata } }) };
      return toInfo((await rest.call(call, (client) => client.POST("/secrets", { body }))).data, call.operation);
    },
    async update(ref, value, metadata, options) {
      // Repeated, it would count the version up twice.
      const call = { ...options, operation: "secret.update", notFound: "not_found", isIdempotent: false } as const;
      const body = { value, ...(metadata !== undefined && { metadata: { ...metadata } }) };
      const { data } = await rest.call(call, (client) =>
        client.POST("/secrets/{secretRef}", { params: { path: { secretRef: ref } }, body }),
      );
      return toInfo(data, call.operation);
    },
    async get(ref, options) {
      const call = { ...options, operation: "secret.getInfo", notFound: "not_found", isIdempotent: true } as const;
      const { data } = await rest.call(call, (client) => client.GET("/secrets/{secretRef}", { params: { path: { secretRef: ref } } }));
      return toInfo(data, call.operation);
    },
    async list({ limit, nextToken }, options) {
      const call = { ...options, operation: "secret.list", isIdempotent: true };
      const query = { ...(limit !== undefined && { limit }), ...(nextToken !== undefined && { nextToken }) };
      const { data, header } = await rest.call(call, (client) => client.GET("/secrets", { params: { query } }));
      if (!Array.isArray(data)) throw new ProtocolError(`${call.operation}: the answer is not a list`, { operation: call.operation });
      return {
        items: data.map((secret) => toInfo(secret, call.operation)),
        nextToken: header("x-next-token") || undefined,
      };
    },
    async delete(ref, options) {
      const call = { ...options, operation: "secret.destroy", notFound: "not_found", isIdempotent: true } as const;
      try {
        await rest.call(call, (client) => client.DELETE("/secrets/{secretRef}", { params: { path: { secretRef: ref } } }));
        return true;
      } catch (error) {
        if (SandboxError.isInstance(error) && error.reason === "not_found") return false;
        throw error;
      }
    },
  };
}

function toInfo(wire: components["schemas"]["Secret"] | undefined, operation: string): SecretInfo {
  if (wire?.secretID === undefined) throw new ProtocolError(`${operation}: the answer describes no secret`, { operation });
  return {
    secretId: wire.secretID,
    name: wire.name,
    version: wire.currentVersion,
    metadata: wire.metadata,
    createdAt: new Date(wire.createdAt),
    updatedAt: new Date(wire.updatedAt),
  };
}
