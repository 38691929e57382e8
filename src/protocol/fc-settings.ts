import { readEnvironment } from "#runtime";
import type { AccessKey } from "../transport/acs3.js";

/** Settings of the FC service that the environment has. */
export interface FcSettings {
  /** `AGENT_SANDBOX_REGION`, `SANDBOX_REGION`, `FCSANDBOX_REGION_ID`. */
  readonly region: string | undefined;
  /**
   * `ALIBABA_CLOUD_ACCESS_KEY_ID`, `ALIBABA_CLOUD_ACCESS_KEY_SECRET` and `ALIBABA_CLOUD_SECURITY_TOKEN`, else `ALICLOUD_ACCESS_KEY_ID` and
   * `ALICLOUD_ACCESS_KEY_SECRET`.
   */
  readonly accessKey: AccessKey | undefined;
  /** `FCSANDBOX_ENDPOINT`, a host name or a URL. */
  readonly controlUrl: string | undefined;
  /** `FCSANDBOX_TEAM_ID`, `TEAM_ID`, `E2B_TEAM_ID`. */
  readonly teamId: string | undefined;
}

/** Read the environment; an empty variable counts as absent. */
export function readFcSettings(): FcSettings {
  const environment = readEnvironment();
  const first = (...names: readonly string[]): string | undefined => {
    for (const name of names) {
      const value = environment[name]?.trim();
      if (value) return value;
    }
    return undefined;
  };
  const endpoint = first("FCSANDBOX_ENDPOINT");
  return {
    region: first("AGENT_SANDBOX_REGION", "SANDBOX_REGION", "FCSANDBOX_REGION_ID"),
    accessKey:
      toAccessKey(first("ALIBABA_CLOUD_ACCESS_KEY_ID"), first("ALIBABA_CLOUD_ACCESS_KEY_SECRET"), first("ALIBABA_CLOUD_SECURITY_TOKEN")) ??
      toAccessKey(first("ALICLOUD_ACCESS_KEY_ID"), first("ALICLOUD_ACCESS_KEY_SECRET"), undefined),
    controlUrl: endpoint === undefined || endpoint.includes("://") ? endpoint : `https://${endpoint}`,
    teamId: first("FCSANDBOX_TEAM_ID", "TEAM_ID", "E2B_TEAM_ID"),
  };
}

/** Id and secret count only together, from the same source. */
function toAccessKey(id: string | undefined, secret: string | undefined, securityToken: string | undefined): AccessKey | undefined {
  return id === undefined || secret === undefined ? undefined : { accessKeyId: id, accessKeySecret: secret, securityToken };
}
