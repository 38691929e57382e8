/** Entry `@agent-sandbox/sdk/ai-sdk`: sandboxes for the AI SDK and its harnesses. */
export { type AiSdkTool, toAiSdkTools } from "./ai-sdk-tools.js";
export { openSandboxSession, type SandboxSessionOptions } from "./open-sandbox-session.js";
