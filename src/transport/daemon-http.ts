import { ConnectionError } from "../errors/error-classes.js";
import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { isBytes } from "../shared/is-bytes.js";
import { logAnswer, logFailure } from "./call-log.js";
import { Deadline } from "./deadline.js";
import type { HttpBody, HttpClient, HttpResponse } from "./http.js";
import type { SafeLogger } from "./logger.js";
import { NO_STATUSES, sendWithRetry } from "./retry.js";
import type { Telemetry } from "./telemetry.js";
import { type CallContext, errorFromResponse, optionsOf, toSandboxGoneError } from "./wire-errors.js";

/** How to reach the HTTP endpoints of one daemon. */
export interface DaemonHttpOptions {
  readonly http: HttpClient;
  readonly baseUrl: string;
  /** Sent with every request: routing and access token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sandboxId: string;
  readonly templateId?: string | undefined;
  readonly requestTimeoutMs: number;
  readonly retries: number;
  readonly logger: SafeLogger;
  readonly telemetry?: Telemetry | undefined;
  /** Status of the daemon's health, for endpoints of another port than the daemon's. @defaultValue `GET /health` of `baseUrl` */
  readonly probe?: (() => Promise<number | undefined>) | undefined;
}

/** One request. */
export interface DaemonRequest {
  readonly operation: string;
  readonly method: "GET" | "POST" | "DELETE";
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: HttpBody | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly requestTimeoutMs?: number | undefined;
  readonly notFound?: ErrorReason | undefined;
  /** The daemon may see the request twice without harm. @defaultValue true for GET */
  readonly isIdempotent?: boolean | undefined;
  /** A status of 400 or more that is an answer and no failure. */
  readonly expectedStatus?: number | undefined;
}

/** A success whose body has yet to be read. */
export interface DaemonAnswer {
  readonly response: HttpResponse;
  /** The caller's signal; the request timeout no longer counts once the body is streamed. */
  readonly deadline: Deadline;
  /** The typed error for a failure while the body is read. */
  explain(error: unknown): Promise<unknown>;
}

const PROBE_TIMEOUT_MS = 5_000;

/** HTTP requests to one daemon. */
export class DaemonHttp {
  readonly #options: DaemonHttpOptions;

  constructor(options: DaemonHttpOptions) {
    this.#options = options;
  }

  /** Send a request; resolves with a success and rejects with a typed error. The caller disposes the deadline. */
  async send(request: DaemonRequest): Promise<DaemonAnswer> {
    const { http, baseUrl, headers, sandboxId, templateId, requestTimeoutMs, retries, logger, telemetry } = this.#options;
    const context: CallContext = { operation: request.operation, sandboxId, notFound: request.notFound, peer: "daemon" };
    const isStreamed = typeof request.body === "object" && !isBytes(request.body);
    const deadline = new Deadline({
      operation: request.operation,
      signal: request.signal,
      // An upload lasts as long as its source; only an explicit limit ends it.
      requestTimeoutMs: request.requestTimeoutMs ?? (isStreamed ? 0 : requestTimeoutMs),
      sandboxId,
      templateId,
      telemetry,
    });
    try {
      const response = await sendWithRetry(
        deadline.over(http),
        {
          method: request.method,
          url: baseUrl + request.target,
          headers: { ...headers, ...request.headers },
          body: request.body,
          signal: deadline.signal,
          isIdempotent: request.isIdempotent ?? request.method === "GET",
        },
        { retries: isStreamed ? 0 : retries, statuses: NO_STATUSES },
        deadline.endsAtMs,
      );
      const isExpected = (response.status >= 200 && response.status < 300) || response.status === request.expectedStatus;
      if (!isExpected) throw await errorFromResponse(response, context, deadline.signal);
      logAnswer(logger, context, { response, method: request.method }, deadline);
      return { response, deadline, explain: (error) => this.#explain(context, deadline, error) };
    } catch (error) {
      const failure = await this.#explain(context, deadline, error);
      deadline[Symbol.dispose]();
      throw failure;
    }
  }

  /** Whether the daemon answers; false when the edge knows no such running sandbox. */
  async isHealthy(options: {
    readonly signal?: AbortSignal | undefined;
    readonly requestTimeoutMs?: number | undefined;
  }): Promise<boolean> {
    try {
      const answer = await this.send({ ...options, operation: "sandbox.isRunning", method: "GET", target: "/health" });
      answer.deadline[Symbol.dispose]();
      await answer.response.bytes();
      return true;
    } catch (error) {
      if (SandboxError.isInstance(error) && error.reason === "sandbox_gone") return false;
      throw error;
    }
  }

  /** Status of `GET /health`; `undefined` when nothing answers. */
  async probeHealth(): Promise<number | undefined> {
    const { http, baseUrl, headers, probe } = this.#options;
    if (probe !== undefined) return probe();
    try {
      const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
      const response = await http({ method: "GET", url: `${baseUrl}/health`, headers, signal, isIdempotent: true });
      await response.bytes();
      return response.status;
    } catch {
      // No answer is an answer here: the caller reports the failure that it already has.
      return undefined;
    }
  }

  async #explain(context: CallContext, deadline: Deadline, error: unknown): Promise<unknown> {
    const failure = deadline.failed(await this.#findCause(context, deadline, error));
    logFailure(this.#options.logger, context, failure, deadline);
    return failure;
  }

  async #findCause(context: CallContext, deadline: Deadline, error: unknown): Promise<unknown> {
    if (deadline.signal.aborted) return deadline.signal.reason;
    if (!SandboxError.isInstance(error) || error.reason !== "connection") return error;
    if ((await this.probeHealth()) === 502) return toSandboxGoneError(context, { cause: error, isInFlight: true });
    return new ConnectionError(`${context.operation}: ${error.message}`, {
      ...optionsOf(context),
      cause: "cause" in error ? error.cause : error,
    });
  }
}
