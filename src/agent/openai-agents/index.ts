/** Entry `@agent-sandbox/sdk/openai-agents`: sandboxes and tools for the OpenAI Agents SDK. */
export type { AgentSandboxClientOptions, AgentSandboxClientSettings, WorkspacePersistence } from "./client-options.js";
export { type FunctionToolOutput, type FunctionToolSchema, type SandboxFunctionTool, toFunctionTools } from "./function-tools.js";
export { AgentSandboxClient } from "./sandbox-client.js";
export { AgentSandboxSession } from "./sandbox-session.js";
export { type AgentSandboxSnapshotSpec, agentSandboxSnapshot } from "./session-snapshots.js";
export type { AgentSandboxSessionState } from "./session-state.js";
