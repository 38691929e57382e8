/** Entry `@agent-sandbox/sdk/agent`: tools with which a model works in a sandbox. */
export { SandboxSession, type SandboxSessionOptions } from "./sandbox-session.js";
export { createTools, type ToolsetOptions } from "./sandbox-toolset.js";
export { findTool, type InputSchema, type Tool, type ToolCallOptions, type ToolContent, type ToolResult } from "./tool.js";
export {
  type AnthropicTool,
  type AnthropicToolResult,
  type AnthropicToolUse,
  callAnthropicTool,
  callOpenAiTool,
  type OpenAiTool,
  type OpenAiToolCall,
  type OpenAiToolMessage,
  toAnthropicTools,
  toOpenAiTools,
} from "./tool-formats.js";
