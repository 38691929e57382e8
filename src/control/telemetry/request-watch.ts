import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { readTraceContext, type TraceContext } from "../../shared/trace-context.js";
import type { Logger } from "../logger.js";
import type { SpanExporter } from "./span-exporter.js";

/** What becomes known of a request on its way. Never a query, a header or what stands in a path of the guest. */
export interface RequestFacts {
  /** Operation of the contract. */
  readonly operation?: string | undefined;
  /** Path template of the API, or the path of a call to the daemon. */
  readonly route?: string | undefined;
  readonly requestId?: string | undefined;
  readonly sandboxId?: string | undefined;
  readonly port?: number | undefined;
  readonly reason?: string | undefined;
}

/** One request that is watched. */
export interface WatchedRequest {
  learn(facts: RequestFacts): void;
}

const SAMPLED = 1;
const HEADERS: readonly string[] = ["traceparent", "tracestate", "baggage"];

/** Logs each request at level `debug`, and makes a span of it where spans are exported. */
export class RequestWatch {
  readonly #logger: Logger;
  readonly #logsRequests: boolean;
  readonly #exporter: SpanExporter | undefined;

  /** @param logsRequests the logger writes what is at level `debug` */
  constructor(logger: Logger, logsRequests: boolean, exporter: SpanExporter | undefined) {
    this.#logger = logger;
    this.#logsRequests = logsRequests;
    this.#exporter = exporter;
  }

  /** Watch a request to the end of its answer; `undefined` where nobody wants to know. */
  begin(request: IncomingMessage, response: ServerResponse): WatchedRequest | undefined {
    const watched = this.#open(request);
    if (watched !== undefined)
      response.once("close", () => watched.end(response.headersSent ? response.statusCode : 0, response.writableFinished));
    return watched;
  }

  /** Watch a request for another protocol to the end of its connection. */
  beginUpgrade(request: IncomingMessage, socket: Socket): WatchedRequest | undefined {
    const watched = this.#open(request);
    if (watched !== undefined) socket.once("close", (hadError) => watched.end(undefined, !hadError));
    return watched;
  }

  #open(request: IncomingMessage): OpenRequest | undefined {
    if (this.#exporter === undefined && !this.#logsRequests) return undefined;
    const trace = this.#exporter === undefined ? undefined : takeOver(request);
    return new OpenRequest(request.method ?? "GET", (end) => {
      const { facts, method, status, isComplete, startedAtMs } = end;
      const durationMs = Math.round((end.endedAtMs - startedAtMs) * 1000) / 1000;
      this.#logger.debug("request", { method, ...facts, status, isComplete, durationMs, traceId: trace?.traceId });
      if (trace?.isSampled) this.#exporter?.add(toSpan(trace, end));
    });
  }
}

/** A request that is under way, or its end. */
class OpenRequest implements WatchedRequest {
  readonly method: string;
  readonly startedAtMs = now();
  readonly #onEnd: (end: RequestEnd) => void;
  #facts: RequestFacts = {};

  constructor(method: string, onEnd: (end: RequestEnd) => void) {
    this.method = method;
    this.#onEnd = onEnd;
  }

  learn(facts: RequestFacts): void {
    this.#facts = { ...this.#facts, ...facts };
  }

  end(status: number | undefined, isComplete: boolean): void {
    const { method, startedAtMs } = this;
    this.#onEnd({ facts: this.#facts, method, startedAtMs, endedAtMs: now(), status, isComplete });
  }
}

interface RequestEnd {
  readonly facts: RequestFacts;
  readonly method: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** 0 without an answer; `undefined` after a switch of protocols. */
  readonly status: number | undefined;
  readonly isComplete: boolean;
}

interface RequestTrace {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly isSampled: boolean;
}

/**
 * Go on with the trace of a request, or begin one, and have the sandbox get the context of our span in place of the client's. A client that
 * does not want its trace sampled is heard.
 */
function takeOver(request: IncomingMessage): RequestTrace {
  const given = readTraceContext((name) => request.headers[name]);
  const [, traceId = randomBytes(16).toString("hex"), parentSpanId, flags = "01"] = given.traceparent?.split("-") ?? [];
  const spanId = randomBytes(8).toString("hex");
  replaceHeaders(request, { ...given, traceparent: `00-${traceId}-${spanId}-${flags}` });
  return { traceId, spanId, parentSpanId, traceState: given.tracestate, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

function replaceHeaders(request: IncomingMessage, context: TraceContext): void {
  const kept = request.rawHeaders.filter((_, index, all) => !HEADERS.includes(all[index - (index % 2)]?.toLowerCase() ?? ""));
  request.rawHeaders = [...kept, ...Object.entries(context).flat()];
}

function toSpan(trace: RequestTrace, { facts, method, status, isComplete, startedAtMs, endedAtMs }: RequestEnd) {
  const hasFailed = !isComplete || (status !== undefined && status >= 500);
  const { isSampled, ...ids } = trace;
  return {
    ...ids,
    name: facts.route === undefined ? method : `${method} ${facts.route}`,
    startedAtMs,
    endedAtMs,
    isError: hasFailed,
    attributes: {
      "http.request.method": method,
      "http.route": facts.route,
      "http.response.status_code": status === 0 ? undefined : status,
      "error.type": hasFailed ? (facts.reason ?? (isComplete ? String(status) : "connection")) : undefined,
      "agent_sandbox.operation": facts.operation,
      "agent_sandbox.request.id": facts.requestId,
      "agent_sandbox.sandbox.id": facts.sandboxId,
      "agent_sandbox.port": facts.port,
    },
  };
}

/** Milliseconds since the epoch, in fractions. */
function now(): number {
  return performance.timeOrigin + performance.now();
}
