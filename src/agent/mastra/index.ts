/** Entry `@agent-sandbox/sdk/mastra`: sandboxes, their files and their tools for agents of Mastra. */
export { AgentSandbox, type UseOptions } from "./agent-sandbox.js";
export { AgentSandboxFilesystem, type AgentSandboxFilesystemOptions } from "./agent-sandbox-filesystem.js";
export type { AgentSandboxOptions } from "./agent-sandbox-options.js";
export type { AgentSandboxProcess } from "./agent-sandbox-process.js";
export type { AgentSandboxProcesses } from "./agent-sandbox-processes.js";
export type { InstructionsContext } from "./instructions.js";
export { type MastraTool, toMastraTools } from "./mastra-tools.js";
