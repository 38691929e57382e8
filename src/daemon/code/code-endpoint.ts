import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { components } from "../../../gen/openapi/code-interpreter.js";
import { InvalidArgumentError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";
import { assertEnvironment } from "../../shared/environment-check.js";
import { readTraceVariables } from "../../shared/trace-context.js";
import { assertAccess } from "../auth.js";
import { allowAnyOrigin, answerPreflight } from "../cors.js";
import type { DaemonState } from "../daemon-state.js";
import { sendJson } from "../http-response.js";
import { readJsonObject } from "../json-body.js";
import { AnswerStream } from "./answer-stream.js";
import type { CodeContext } from "./code-context.js";
import { ContextTable } from "./context-table.js";
import { takesVariables } from "./languages.js";

type Schemas = components["schemas"];

/** Port of the code interpreter inside every sandbox that has one. */
export const CODE_PORT = 49_999;

const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** The HTTP API of the code interpreter (openapi/code-interpreter.yaml). */
export class CodeEndpoint {
  readonly #state: DaemonState;
  readonly #contexts: ContextTable;
  #server: Server | undefined;

  constructor(state: DaemonState) {
    this.#state = state;
    this.#contexts = new ContextTable(state);
  }

  /** True when there are kernels; otherwise the port is like every other one. */
  get isAvailable(): boolean {
    return this.#contexts.isAvailable;
  }

  /** Have the first kernel ahead, where the template has kernels. */
  warmUp(): void {
    this.#contexts.warmUp();
  }

  /** Serve a connection that somebody opened to the port. */
  serve(connection: Duplex, head: Buffer): void {
    connection.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (head.length > 0) connection.unshift(head);
    this.server.emit("connection", connection);
  }

  /** The server, for a listener of its own where sandboxes have a network. */
  get server(): Server {
    if (this.#server === undefined) {
      // Made when it is needed, because of what an import of node:http costs.
      this.#server = process.getBuiltinModule("node:http").createServer({ noDelay: true }, (req, res) => {
        this.#dispatch(req, res).catch((error: unknown) => sendError(res, error));
      });
      // Executions last as long as their code.
      this.#server.requestTimeout = 0;
      this.#server.on("clientError", (_error, socket) => socket.destroy());
    }
    return this.#server;
  }

  close(): void {
    this.#contexts.close();
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  async #dispatch(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on("error", () => {});
    allowAnyOrigin(res);
    const path = req.url?.split("?", 1)[0] ?? "";
    if (req.method === "OPTIONS") return answerPreflight(req, res);
    const [, name, id, action, ...rest] = path.split("/");
    switch (
      `${req.method} /${name}${id === undefined ? "" : "/{id}"}${action === undefined ? "" : `/${action}`}${rest.length > 0 ? "/" : ""}`
    ) {
      case "GET /health":
        await this.#contexts.default(undefined).ready();
        return sendJson(res, 200, "OK");
      case "POST /execute":
        return this.#execute(req, res);
      case "GET /contexts":
        return sendJson(res, 200, this.#contexts.list().map(toWire));
      case "POST /contexts": {
        const { language, cwd } = parseNewContext(await readBody(req));
        return sendJson(res, 200, toWire(await this.#contexts.create(language, cwd)));
      }
      case "DELETE /contexts/{id}":
        this.#contexts.remove(decode(id));
        return sendJson(res, 200, null);
      case "POST /contexts/{id}/restart":
        await this.#contexts.get(decode(id)).restart();
        return sendJson(res, 200, null);
      default:
        return sendText(res, 404, `nothing is served at '${req.method} ${path}'`);
    }
  }

  async #execute(req: IncomingMessage, res: ServerResponse): Promise<void> {
    assertAccess(req, this.#state.accessToken);
    const { code, context_id, language, env_vars } = parseExecution(await readBody(req));
    if (context_id && language) throw new InvalidArgumentError("context_id and language exclude each other: a context has its language");
    const envs = env_vars ?? {};
    assertEnvironment(Object.entries(envs));
    const context = context_id ? this.#contexts.get(context_id) : this.#contexts.default(language);
    const traceVars = takesVariables(context.language) ? readTraceVariables((name) => req.headers[name]) : {};
    const left = new AbortController();
    res.once("close", () => left.abort());
    if (res.destroyed) return;
    try {
      await context.execute(code, { ...traceVars, ...envs }, left.signal, () => new AnswerStream(res, context));
    } catch (error) {
      // A default context of a language that does not exist would be listed for ever.
      if (!context_id && error instanceof InvalidArgumentError && !context.hasStarted) this.#contexts.forget(context);
      throw error;
    }
  }
}

/** What is not encoded well is the id of no context. */
function decode(id = ""): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id;
  }
}

function toWire({ id, language, cwd }: CodeContext): Schemas["Context"] {
  return { id, language, cwd };
}

/** A body that is none of the schema has a status of its own. */
class MalformedBody extends Error {}

async function readBody(req: IncomingMessage): Promise<Record<string, unknown>> {
  try {
    return await readJsonObject(req, MAX_BODY_BYTES);
  } catch (error) {
    if (SandboxError.isInstance(error) && error.reason === "invalid_argument") throw new MalformedBody(error.message);
    throw error;
  }
}

function parseExecution(body: Record<string, unknown>): Schemas["Execution"] {
  if (typeof body.code !== "string") throw new MalformedBody("code must be a string");
  const vars = body.env_vars ?? null;
  if (vars !== null && (typeof vars !== "object" || Object.values(vars).some((value) => typeof value !== "string"))) {
    throw new MalformedBody("env_vars must be an object of strings");
  }
  return {
    code: body.code,
    context_id: optionalString(body, "context_id"),
    language: optionalString(body, "language"),
    env_vars: vars as Record<string, string> | null, // checked above
  };
}

function parseNewContext(body: Record<string, unknown>): Schemas["NewContext"] {
  return { language: optionalString(body, "language"), cwd: optionalString(body, "cwd") };
}

function optionalString(body: Record<string, unknown>, name: string): string | null {
  const value = body[name] ?? null;
  if (value !== null && typeof value !== "string") throw new MalformedBody(`${name} must be a string`);
  return value;
}

function sendText(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain; charset=utf-8", "content-length": Buffer.byteLength(text) });
  res.end(text);
}

function sendError(res: ServerResponse, error: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  if (error instanceof MalformedBody) {
    sendJson(res, 422, { detail: error.message });
    return;
  }
  const status = SandboxError.isInstance(error) ? STATUS_OF_REASON[error.reason].http : 500;
  sendText(res, status, error instanceof Error ? error.message : "the code interpreter failed for an unknown reason");
}
