/** Entry `@agent-sandbox/sdk/langchain`: a backend for deepagents, and the tools of `./agent` for LangChain. */
export { type LangChainTool, type LangChainToolContent, type LangChainToolOutput, toLangChainTools } from "./langchain-tools.js";
export { createSandboxBackend, type OwnedBackendOptions, OwnedSandboxBackend, toSandboxBackend } from "./open-backend.js";
export { SandboxBackend, type SandboxBackendOptions } from "./sandbox-backend.js";
export { ThreadBackends } from "./thread-backends.js";
