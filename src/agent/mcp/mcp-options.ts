import type { SandboxSessionOptions } from "../sandbox-session.js";
import type { ToolsetOptions } from "../sandbox-toolset.js";

/** What every session of an MCP server gets. */
export interface McpOptions extends ToolsetOptions, Omit<SandboxSessionOptions, "sandbox"> {
  /** Called with what goes wrong beside the answers, in one line each. @defaultValue nothing is told */
  readonly onProblem?: ((message: string) => void) | undefined;
}
