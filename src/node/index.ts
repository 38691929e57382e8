/** Entry `@agent-sandbox/sdk/node`: what needs Node and this machine. */
export type { LocalPlatform } from "../sandbox/local-platform-types.js";
export { findOrStartLocalPlatform, type LocalPlatformStartOptions } from "./local-platform.js";
