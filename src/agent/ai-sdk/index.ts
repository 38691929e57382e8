/** Entry `@agent-sandbox/sdk/ai-sdk`: sandboxes for the AI SDK and its harnesses. */
export { type AiSdkTool, toAiSdkTools } from "./ai-sdk-tools.js";
export type { SandboxNetworkPolicy } from "./network-policy.js";
export { type NetworkSandboxSession, type NetworkSandboxSessionOptions, openNetworkSandboxSession } from "./network-session.js";
export { openSandboxSession, type SandboxSessionOptions } from "./open-sandbox-session.js";
export type { PortEndpoint, PortOptions } from "./port-endpoint.js";
export { SandboxProviderAuthenticationError } from "./provider-authentication-error.js";
export type { RequestTransformation } from "./request-transformations.js";
export { type CreateSessionOptions, createSandboxProvider, type SandboxProvider, type SandboxProviderOptions } from "./sandbox-provider.js";
