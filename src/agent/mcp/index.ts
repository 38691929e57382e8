/** Entry `@agent-sandbox/sdk/mcp`: the tools of `./agent` for clients of the Model Context Protocol. */
export { type McpHttpOptions, type McpHttpServer, serveMcpHttp } from "./http.js";
export type { McpOptions } from "./mcp-options.js";
export { type McpStdioOptions, serveMcpStdio } from "./stdio.js";
