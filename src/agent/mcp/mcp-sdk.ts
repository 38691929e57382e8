import { FailedPreconditionError } from "../../errors/error-classes.js";

/**
 * The official implementation of the protocol, which is a package of the user: only who serves it needs it.
 *
 * @throws {@link FailedPreconditionError} it is not installed.
 */
export async function loadMcpSdk() {
  try {
    const [{ Server }, { StdioServerTransport }, { StreamableHTTPServerTransport }, types] = await Promise.all([
      import("@modelcontextprotocol/sdk/server/index.js"),
      import("@modelcontextprotocol/sdk/server/stdio.js"),
      import("@modelcontextprotocol/sdk/server/streamableHttp.js"),
      import("@modelcontextprotocol/sdk/types.js"),
    ]);
    return { Server, StdioServerTransport, StreamableHTTPServerTransport, types };
  } catch (cause) {
    throw new FailedPreconditionError("the MCP server needs a package that cannot be loaded: npm install @modelcontextprotocol/sdk", {
      operation: "mcp",
      cause,
    });
  }
}

export type McpSdk = Awaited<ReturnType<typeof loadMcpSdk>>;
