/** Entry `@agent-sandbox/sdk/fc`: what Alibaba Cloud's FC Agent Sandbox service has beside the shared wire. */
export type {
  FcAccessKey,
  FcApiKey,
  FcApiKeyInfo,
  FcCall,
  FcControlClient,
  FcTemplateInfo,
  FcTemplateSpec,
} from "../../protocol/fc-control-client.js";
export { deleteExpiredKeys, type FcKeyExchangeOptions } from "../../protocol/fc-key-exchange.js";
export { type FcSettings, readFcSettings } from "../../protocol/fc-settings.js";
export { FC_REGIONS, type FcFamily, type FcRegion } from "../../shared/fc-endpoints.js";
export {
  type FcExtensions,
  type FcIdentity,
  type FcLogging,
  type FcTracing,
  type FcVpc,
  toFcMetadata,
} from "./extensions.js";
export {
  type FcAccountOptions,
  type FcConnection,
  type FcConnectionOptions,
  fcConnection,
  fcControl,
  fcControlUrl,
} from "./fc-connection.js";
export { type FcMountOptions, FcMounts } from "./fc-mounts.js";
export { FcSandbox, type FcSandboxCreateOptions } from "./fc-sandbox.js";
export type {
  FcAgenticBucketMount,
  FcAgenticFs,
  FcAgenticFsMount,
  FcJuiceFs,
  FcJuiceFsMount,
  FcNas,
  FcNasMount,
  FcOssMount,
  FcPolarFs,
  FcPolarFsMount,
  FcStorage,
} from "./storage.js";
