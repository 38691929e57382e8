import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { InvalidArgumentError, RateLimitError } from "../../errors/error-classes.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { messageOf } from "../../shared/message-of.js";
import type { Logger } from "../logger.js";
import { toSandboxId } from "../sandbox-id.js";
import type { WatchedRequest } from "../telemetry/request-watch.js";
import { assertApiKey } from "./api-key.js";
import { type ContractOperation, readOperations } from "./contract.js";
import { allowAnyOrigin, preflightHeaders } from "./cors.js";
import { sendEvents } from "./event-stream.js";
import { errorAnswer, sendJson, toErrorAnswer } from "./json-answer.js";
import { readJsonBody } from "./json-body.js";
import type { ByteBody, Handlers, ServerSentEvent } from "./operation-types.js";
import { Router } from "./router.js";
import { ContractValidator } from "./validator.js";

export interface RestServerOptions {
  readonly handlers: Handlers;
  readonly apiKey: string;
  readonly logger: Logger;
  /** Also check every answer against the contract; for tests and development. */
  readonly checkAnswers: boolean;
}

/** Any answer of any handler, as it is written out. */
interface AnyAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly events?: AsyncIterable<ServerSentEvent>;
}

// The request was validated against the operation whose handler it is given to; the type cannot follow the look-up by name.
type AnyHandler = (request: object) => AnyAnswer | Promise<AnyAnswer>;

/** Serves the operations of the contract; every failure is an answer with the error body of the contract. */
export class RestServer {
  readonly #options: RestServerOptions;
  readonly #operations = readOperations();
  readonly #router = new Router(this.#operations);
  readonly #validator = new ContractValidator();

  constructor(options: RestServerOptions) {
    this.#options = options;
  }

  /** Do ahead what the first creation would wait for. */
  warmUp(): void {
    for (const operation of this.#operations) if (operation.id === "createSandboxV2") this.#validator.prepare(operation);
  }

  /** Answer one request; never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse, watched: WatchedRequest | undefined): Promise<void> {
    const requestId = randomUUID();
    allowAnyOrigin(response);
    response.setHeader("X-Request-Id", requestId);
    watched?.learn({ requestId });
    const left = new AbortController();
    const { socket } = request;
    const leave = () => {
      if (!response.writableFinished) left.abort(new Error("the client left before the answer"));
    };
    // The end of what a client sends is the first sign that it left; the connection closes only later.
    socket.once("end", leave);
    response.once("close", () => {
      socket.off("end", leave);
      leave();
    });
    try {
      await this.#answer(request, response, left.signal, watched);
    } catch (error) {
      if (left.signal.aborted || response.headersSent) {
        response.destroy();
        return;
      }
      const { status, body } = toErrorAnswer(error);
      watched?.learn({ reason: SandboxError.isInstance(error) ? error.reason : "internal" });
      if (!SandboxError.isInstance(error) || status === 500) {
        this.#options.logger.error("rest.failed", { requestId, method: request.method, message: messageOf(error) });
      }
      // What is left of a refused body would be taken for the next request.
      sendJson(response, status, body, { ...retryAdvice(error), ...(request.complete ? {} : { connection: "close" }) });
    }
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    watched: WatchedRequest | undefined,
  ): Promise<void> {
    const method = request.method ?? "GET";
    const [path = "/", search = ""] = splitTarget(request.url ?? "/");
    if (method === "OPTIONS") {
      sendJson(response, 204, undefined, preflightHeaders(request));
      return;
    }
    const match = this.#router.match(method, path);
    if (match.kind === "unknown") {
      const { status, body } = errorAnswer(404, `no route ${method} ${path.slice(0, 200)}`, "not_found");
      sendJson(response, status, body, request.complete ? {} : { connection: "close" });
      return;
    }
    if (match.kind === "method_not_allowed") {
      const allow = match.allowed.join(", ");
      const { status, body } = errorAnswer(405, `${method} is not served here, only ${allow}`, "method_not_allowed");
      sendJson(response, status, body, { allow, ...(request.complete ? {} : { connection: "close" }) });
      return;
    }
    const { operation } = match;
    watched?.learn({ operation: operation.id, route: operation.path, sandboxId: toSandboxId(match.path.sandboxID ?? "") });
    if (operation.needsKey) assertApiKey(request.headers, this.#options.apiKey);
    const answer = await this.#call(operation, {
      path: this.#readPath(operation, match.path),
      query: this.#readQuery(operation, search),
      header: this.#readHeaders(operation, request),
      body: await this.#readBody(operation, request),
      origin: `http://${request.headers.host}`,
      isSameMachine: isFromSameMachine(request),
      signal,
    });
    watched?.learn(toNewSandbox(answer));
    if (answer.events !== undefined) {
      await sendEvents(response, answer.events);
      return;
    }
    if (this.#options.checkAnswers) this.#validator.assertAnswer(operation, answer.status, answer.body);
    sendJson(response, answer.status, answer.body, answer.headers);
  }

  async #call(operation: ContractOperation, request: object): Promise<AnyAnswer> {
    const handler = this.#options.handlers[operation.id] as unknown as AnyHandler;
    return handler(request);
  }

  #readPath(operation: ContractOperation, path: Readonly<Record<string, string>>): object {
    // Ids have an error text of their own in the contract, so the handler reads them.
    const { sandboxID, ...rest } = path;
    this.#validator.assertParameters(operation, "path", rest);
    return path;
  }

  #readQuery(operation: ContractOperation, search: string): object {
    const sent = new URLSearchParams(search);
    const query: Record<string, unknown> = {};
    for (const { name, in: place, isArray } of operation.parameters) {
      const values = place === "query" ? sent.getAll(name) : [];
      if (values.length === 0) continue;
      if (isArray) query[name] = values.flatMap((value) => (value === "" ? [] : value.split(",")));
      else query[name] = values[0];
    }
    this.#validator.assertParameters(operation, "query", query);
    return query;
  }

  #readHeaders(operation: ContractOperation, request: IncomingMessage): object {
    const headers: Record<string, unknown> = {};
    for (const { name, in: place } of operation.parameters) {
      const value = place === "header" ? request.headers[name.toLowerCase()] : undefined;
      if (value !== undefined) headers[name] = value;
    }
    this.#validator.assertParameters(operation, "header", headers);
    return headers;
  }

  async #readBody(operation: ContractOperation, request: IncomingMessage): Promise<unknown> {
    if (operation.hasByteBody) return toByteBody(request);
    if (operation.bodyPointer === undefined) return undefined;
    const sent = await readJsonBody(request);
    if (sent === undefined && operation.isBodyRequired) throw new InvalidArgumentError("a JSON body is required");
    const body = sent ?? {};
    this.#validator.assertBody(operation, body);
    return body;
  }
}

/** A creation names its sandbox in the answer only. */
function toNewSandbox({ body }: AnyAnswer): { readonly sandboxId?: string } {
  const isNamed = typeof body === "object" && body !== null && "sandboxID" in body && typeof body.sandboxID === "string";
  return isNamed ? { sandboxId: body.sandboxID as string } : {}; // the check is the line above
}

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

function isFromSameMachine({ socket, headers }: IncomingMessage): boolean {
  return LOOPBACK.test(socket.remoteAddress ?? "") && headers["x-forwarded-for"] === undefined && headers.forwarded === undefined;
}

function toByteBody(request: IncomingMessage): ByteBody {
  const length = request.headers["content-length"];
  return { chunks: request, sizeBytes: length === undefined ? undefined : Number(length) };
}

/** Whether the same request has a chance later, and when. */
function retryAdvice(error: unknown): Readonly<Record<string, string>> {
  if (!SandboxError.isInstance(error)) return {};
  const retryAfterMs = error instanceof RateLimitError ? error.retryAfterMs : undefined;
  return {
    "should-retry": String(error.isRetryable),
    ...(retryAfterMs !== undefined && { "retry-after": String(Math.ceil(retryAfterMs / 1000)) }),
  };
}

function splitTarget(target: string): readonly [string, string] {
  const at = target.indexOf("?");
  return at < 0 ? [target, ""] : [target.slice(0, at), target.slice(at + 1)];
}
