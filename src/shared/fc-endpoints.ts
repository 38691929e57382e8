import { InvalidArgumentError } from "../errors/error-classes.js";

/** Regions that the service is known to be in; another name is taken as it is. */
export const FC_REGIONS = [
  "cn-beijing",
  "cn-shanghai",
  "cn-hangzhou",
  "cn-shenzhen",
  "cn-hongkong",
  "ap-southeast-1",
  "us-east-1",
  "us-west-1",
] as const;

/** A region of Alibaba Cloud, such as `cn-hangzhou`. */
export type FcRegion = (typeof FC_REGIONS)[number] | (string & {});

/** Which of the two families of host names: `fc` is `e2b.fc.aliyuncs.com`, `flash` is `sandbox.aliyuncs.com`. */
export type FcFamily = "fc" | "flash";

/** Where one region of the service is. */
export interface FcPlace {
  readonly region: FcRegion;
  /** @defaultValue "fc" */
  readonly family?: FcFamily | undefined;
  /** Names that resolve only inside a VPC with an endpoint of the service; family `fc` only. @defaultValue false */
  readonly privateLink?: boolean | undefined;
}

/** The addresses of one region. */
export interface FcEndpoints {
  /** Domain of the hosts of sandboxes. */
  readonly domain: string;
  readonly apiUrl: string;
  /** Control plane of the account, for calls signed with an access key. */
  readonly controlUrl: string;
}

const ROOT_OF_FAMILY: Record<FcFamily, string> = { fc: "e2b.fc.aliyuncs.com", flash: "sandbox.aliyuncs.com" };

/** @throws {@link InvalidArgumentError} the region is no region name, or the family has no private link. */
export function toFcEndpoints({ region, family = "fc", privateLink = false }: FcPlace): FcEndpoints {
  if (!/^[a-z]{2}(-[a-z0-9]+)+$/.test(region)) {
    throw new InvalidArgumentError(`region must be a name such as "cn-hangzhou", not ${JSON.stringify(region)}`);
  }
  if (!Object.hasOwn(ROOT_OF_FAMILY, family)) {
    throw new InvalidArgumentError(`family must be "fc" or "flash", not ${JSON.stringify(family)}`);
  }
  if (privateLink && family !== "fc") throw new InvalidArgumentError('privateLink needs the family "fc"');
  const domain = `${region}${privateLink ? "-vpc" : ""}.${ROOT_OF_FAMILY[family]}`;
  return { domain, apiUrl: `https://api.${domain}`, controlUrl: `https://fcsandbox.${region}.aliyuncs.com` };
}

/** Whether a host name belongs to the service. */
export function isFcHost(host: string): boolean {
  return Object.values(ROOT_OF_FAMILY).some((root) => host.endsWith(`.${root}`));
}
