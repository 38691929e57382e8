import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { CallToolResult, RequestId } from "@modelcontextprotocol/sdk/types.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { VERSION } from "../../shared/version.js";
import type { SandboxSession } from "../sandbox-session.js";
import { createTools } from "../sandbox-toolset.js";
import { findTool, type Tool } from "../tool.js";
import { answerStreamOf } from "./answer-stream.js";
import { FILE_TEMPLATE, listFileResources, readFileResource } from "./file-resources.js";
import type { McpOptions } from "./mcp-options.js";
import type { McpSdk } from "./mcp-sdk.js";
import { startProgress } from "./progress.js";

const INSTRUCTIONS =
  "Tools for an isolated Linux machine, the sandbox. It is made by itself with the first call and ends with the session, with its files. " +
  "Code that was not checked belongs in it and not on the machine of the user.";
/** Of the protocol: "Resource not found". */
const RESOURCE_NOT_FOUND = -32_002;

/** A server for one client, whose sandboxes are those of `session`. Whoever connects it closes the session. */
export function openMcpServer({ Server: McpServer, types }: McpSdk, session: SandboxSession, options: McpOptions): Server {
  const tools = createTools(session, options);
  const server = new McpServer(
    { name: "agent-sandbox", version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.onerror = ({ message }) => options.onProblem?.(message);

  const running = new Map<RequestId, AbortController>();
  const cancel = (id: RequestId, why: string) => running.get(id)?.abort(new Error(why));
  // In place of the library's own handler, which takes no notice of the id 0.
  server.setNotificationHandler(types.CancelledNotificationSchema, ({ params: { requestId, reason } }) => {
    if (requestId !== undefined) cancel(requestId, reason ?? "the client cancelled the call");
  });

  server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: tools.map(({ execute: _, ...tool }) => toListed(tool)) }));
  server.setRequestHandler(types.CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const tool = orInvalidParams(types, () => findTool(tools, params.name));
    const cancelled = new AbortController();
    // An answer with this id goes to the later call only.
    cancel(extra.requestId, "the client gave the id of the call to another one");
    running.set(extra.requestId, cancelled);
    const stream = answerStreamOf(extra);
    stream?.begin();
    using progress = startProgress(params._meta?.progressToken, extra.sendNotification);
    try {
      const signal = AbortSignal.any([extra.signal, cancelled.signal]);
      const { content, isError } = await tool.execute(params.arguments, { signal, onProgress: progress.report });
      return { content: [...content], isError };
    } catch (error) {
      // A call that was cancelled gets no answer, and the library knows no other way to give none.
      if (cancelled.signal.aborted) return new Promise(() => undefined);
      throw error;
    } finally {
      if (running.get(extra.requestId) === cancelled) running.delete(extra.requestId);
      stream?.finish(!cancelled.signal.aborted);
    }
  });

  server.setRequestHandler(types.ListResourcesRequestSchema, async () => ({ resources: await listFileResources(session) }));
  server.setRequestHandler(types.ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [FILE_TEMPLATE] }));
  server.setRequestHandler(types.ReadResourceRequestSchema, async ({ params }) => {
    try {
      return { contents: [await readFileResource(session, params.uri)] };
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "file_not_found") throw new types.McpError(RESOURCE_NOT_FOUND, error.message);
      return orInvalidParams(types, () => {
        throw error;
      });
    }
  });
  return server;
}

/** Other clients take the required members as a list that may be changed. */
function toListed({ name, description, inputSchema }: Omit<Tool, "execute">) {
  return { name, description, inputSchema: { ...inputSchema, required: [...inputSchema.required] } };
}

function orInvalidParams<T>(types: McpSdk["types"], action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!SandboxError.isInstance(error)) throw error;
    throw new types.McpError(
      error.reason === "invalid_argument" ? types.ErrorCode.InvalidParams : types.ErrorCode.InternalError,
      error.message,
    );
  }
}
