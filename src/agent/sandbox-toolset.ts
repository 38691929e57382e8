import { DEFAULT_MAX_TEXT_LENGTH } from "./bounded-text.js";
import { ChangeQueue } from "./change-queue.js";
import type { SandboxSession } from "./sandbox-session.js";
import type { Tool } from "./tool.js";
import { commandTools } from "./tools/command-tools.js";
import { fileTools } from "./tools/file-tools.js";
import { sandboxTools } from "./tools/sandbox-tools.js";
import { searchTool } from "./tools/search-tool.js";

/** How tools behave. */
export interface ToolsetOptions {
  /** Characters of text in a result, of each stream of output; of more, beginning and end are kept. @defaultValue 16_000 */
  readonly maxTextLength?: number | undefined;
}

/**
 * The tools for one conversation: `run_code`, `run_command`, `list_processes`, `read_file`, `write_file`, `edit_file`, `list_files`,
 * `search_files`, `create_sandbox`, `kill_sandbox` and `get_port_url`. Calls may run at the same time; those that change one file wait for each
 * other.
 *
 * ```ts
 * await using session = new SandboxSession();
 * const tools = createTools(session);
 * ```
 */
export function createTools(session: SandboxSession, { maxTextLength = DEFAULT_MAX_TEXT_LENGTH }: ToolsetOptions = {}): Tool[] {
  const context = { session, changes: new ChangeQueue(), maxTextLength };
  return [...commandTools(context), ...fileTools(context), searchTool(context), ...sandboxTools(context)];
}
