/** Entry `@agent-sandbox/sdk/node`: what needs Node and this machine. */
export type { LocalPlatform } from "../sandbox/local-platform-types.js";
export type { OutsideLinks } from "../shared/tar-extract-node.js";
export { type SandboxWithCommands, type StartCommandServerOptions, startCommandServer } from "./command-server.js";
export {
  type DirectoryOptions,
  type DirectoryProgress,
  type DirectoryResult,
  type DownloadDirOptions,
  downloadDir,
  type SandboxWithFiles,
  uploadDir,
} from "./directory-transfer.js";
export { findOrStartLocalPlatform, type LocalPlatformStartOptions } from "./local-platform.js";
