/** Entry `@agent-sandbox/sdk/node`: what needs Node and this machine. */
export { findOrStartLocalPlatform, type LocalPlatform, type LocalPlatformOptions } from "./local-platform.js";
