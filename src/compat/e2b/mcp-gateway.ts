import { type Sandbox, SandboxError } from "../../index.js";
import { messageOf } from "../../shared/message-of.js";
import { quoteShellCommand } from "../../shared/shell-quote.js";
import type { McpServer } from "./sandbox-options.js";

/** Template that has the gateway. */
export const MCP_TEMPLATE = "mcp-gateway";
/** Port that the gateway listens on. */
export const MCP_PORT = 50_005;
const TOKEN_PATH = "/etc/mcp-gateway/.token";

/**
 * Start the gateway of a new sandbox and resolve with its token.
 *
 * @throws {@link SandboxError} it does not start; the sandbox is killed then.
 */
export async function startMcpGateway(sandbox: Sandbox, servers: McpServer): Promise<string> {
  const token = crypto.randomUUID();
  try {
    await sandbox.commands.run(quoteShellCommand(["mcp-gateway", "--config", JSON.stringify(servers)]), {
      user: "root",
      envs: { GATEWAY_ACCESS_TOKEN: token },
    });
    return token;
  } catch (cause) {
    await sandbox.kill().catch(() => undefined);
    const detail = messageOf(cause);
    throw new SandboxError("failed_precondition", `Failed to start MCP gateway: ${detail}`, { operation: "sandbox.create", cause });
  }
}

/** The token of a gateway that was started by somebody else. */
export function readMcpToken(sandbox: Sandbox): Promise<string> {
  return sandbox.files.read(TOKEN_PATH, { user: "root" });
}
