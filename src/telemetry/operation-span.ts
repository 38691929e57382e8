import { type Attributes, type Context, context, type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { SandboxError } from "../errors/sandbox-error.js";
import type { HttpClient, HttpResponse } from "../transport/http.js";
import type { CallFacts, CallSpan } from "../transport/telemetry.js";
import { toContextHeaders } from "./context-headers.js";
import { errorType } from "./error-type.js";
import type { Instruments } from "./instruments.js";
import { RequestSpan } from "./request-span.js";

export interface TelemetryParts {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly recordsCommands: boolean;
  readonly propagatesContext: boolean;
}

/** The span and the metrics of one call. */
export class OperationSpan implements CallSpan {
  readonly #parts: TelemetryParts;
  readonly #facts: CallFacts;
  readonly #span: Span;
  readonly #context: Context;
  readonly #startedAt = performance.now();
  readonly #open = new Set<RequestSpan>();
  #requests = 0;
  #errorType: string | undefined;
  #isStream = false;
  #hasEnded = false;

  constructor(parts: TelemetryParts, facts: CallFacts) {
    this.#parts = parts;
    this.#facts = facts;
    const parent = context.active();
    const attributes: Attributes = { "agent_sandbox.operation": facts.operation };
    if (facts.sandboxId !== undefined) attributes["agent_sandbox.sandbox.id"] = facts.sandboxId;
    if (facts.templateId !== undefined) attributes["agent_sandbox.template.id"] = facts.templateId;
    if (facts.command !== undefined && parts.recordsCommands) attributes["process.command_args"] = [...facts.command];
    this.#span = parts.tracer.startSpan(facts.operation, { attributes }, parent);
    this.#context = trace.setSpan(parent, this.#span);
  }

  over(http: HttpClient): HttpClient {
    return async (request) => {
      const { tracer, instruments, propagatesContext } = this.#parts;
      if (this.#requests > 0) instruments.retries.add(1, this.#metricAttributes);
      const resendCount = this.#requests;
      this.#requests += 1;
      const sent = new RequestSpan({
        tracer,
        parent: this.#context,
        resendCount,
        onBytes: (bytes, direction) => instruments.io.add(bytes, { ...this.#metricAttributes, "network.io.direction": direction }),
        onStream: () => this.streamed(),
        onEnd: () => this.#open.delete(sent),
      });
      this.#open.add(sent);
      return sent.send(http, request, propagatesContext);
    };
  }

  headers(): Readonly<Record<string, string>> {
    return this.#parts.propagatesContext ? toContextHeaders(this.#context) : {};
  }

  learn(answer: unknown): void {
    if (typeof answer !== "object" || answer === null) return;
    const { sandboxID, templateID } = answer as Readonly<Record<string, unknown>>; // any property of an object may be asked for
    if (typeof sandboxID === "string") this.#span.setAttribute("agent_sandbox.sandbox.id", sandboxID);
    if (typeof templateID === "string") this.#span.setAttribute("agent_sandbox.template.id", templateID);
  }

  fail(error: unknown): void {
    this.#errorType = errorType(error);
    if (!SandboxError.isInstance(error)) return;
    if (error.statusCode !== undefined) this.#span.setAttribute("http.response.status_code", error.statusCode);
    if (error.requestId !== undefined) this.#span.setAttribute("agent_sandbox.request.id", error.requestId);
  }

  /** A process ended. */
  note({ exitCode }: { readonly exitCode?: number }): void {
    if (exitCode !== undefined) this.#span.setAttribute("process.exit.code", exitCode);
  }

  /** The answer comes in pieces; counted once, however many answers there are. */
  streamed(): void {
    if (this.#isStream || this.#hasEnded) return;
    this.#isStream = true;
    this.#parts.instruments.activeStreams.add(1, this.#metricAttributes);
  }

  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const request of this.#open) request.end();
    if (this.#isStream) this.#parts.instruments.activeStreams.add(-1, this.#metricAttributes);
    if (this.#requests > 1) this.#span.setAttribute("agent_sandbox.retries", this.#requests - 1);
    const failure = this.#errorType === undefined ? {} : { "error.type": this.#errorType };
    if (this.#errorType !== undefined) this.#span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
    const attributes = { ...this.#metricAttributes, ...failure };
    this.#parts.instruments.duration.record((performance.now() - this.#startedAt) / 1000, attributes, this.#context);
  }

  endWith(response: HttpResponse): HttpResponse {
    const { body, status } = response;
    const read = async function* (span: CallSpan) {
      try {
        yield* body;
      } catch (error) {
        span.fail(error);
        throw error;
      } finally {
        span.end();
      }
    };
    const finish = () => this.end();
    return { status, header: (name) => response.header(name), body: read(this), bytes: () => response.bytes().finally(finish) };
  }

  /** Few different values: each combination is a series of its own. */
  get #metricAttributes(): Attributes {
    return { "agent_sandbox.operation": this.#facts.operation };
  }
}
