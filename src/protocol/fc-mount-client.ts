import type { components } from "../../gen/openapi/fc-mounts.js";
import type { RequestOptions } from "../transport/config.js";
import type { RestClient } from "../transport/rest.js";

type Schemas = components["schemas"];

/** What is mounted later, in the form of the wire; see openapi/fc-mounts.yaml. */
export type FcLateMounts = Schemas["FcVolumeMounts"];

/** Mounts storage in running sandboxes of the FC service. */
export interface FcMountClient {
  add(sandboxId: string, mounts: FcLateMounts, options: RequestOptions): Promise<void>;
}

export function createFcMountClient(rest: RestClient): FcMountClient {
  return {
    async add(sandboxID, body, options) {
      const call = {
        ...options,
        operation: "mounts.add",
        sandboxId: sandboxID,
        notFound: "sandbox_not_found",
        isIdempotent: false,
      } as const;
      await rest.call(call, (client) => client.POST("/sandboxes/{sandboxID}/fc-volume-mounts", { params: { path: { sandboxID } }, body }));
    },
  };
}
