import type { paths as FcMountPaths } from "../../gen/openapi/fc-mounts.js";
import type { paths as LifecyclePaths } from "../../gen/openapi/lifecycle.js";
import { AuthenticationError, ProtocolError } from "../errors/error-classes.js";
import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { VERSION } from "../shared/version.js";
import { logAnswer, logFailure } from "./call-log.js";
import type { ApiKeyProvider } from "./config.js";
import { Deadline } from "./deadline.js";
import { type HttpClient, type HttpResponse, withWholeAnswers } from "./http.js";
import type { SafeLogger } from "./logger.js";
import { type Operations, openOperations, type RestAnswer, type RestRequest } from "./rest-request.js";
import { GATEWAY_STATUSES, sendWithRetry } from "./retry.js";
import type { Telemetry } from "./telemetry.js";
import { type CallContext, errorFromResponse, optionsOf } from "./wire-errors.js";

/** How to reach the control plane. */
export interface RestOptions {
  readonly http: HttpClient;
  readonly baseUrl: string;
  /** `signed` where `http` itself proves who asks. */
  readonly apiKey: string | ApiKeyProvider | undefined | { readonly isSigned: true };
  readonly apiHeaders: Readonly<Record<string, string>>;
  readonly requestTimeoutMs: number;
  readonly retries: number;
  readonly logger: SafeLogger;
  readonly telemetry?: Telemetry | undefined;
}

/** One call. */
export interface RestCallOptions {
  /** `namespace.method`, for errors. */
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
  readonly requestTimeoutMs?: number | undefined;
  readonly sandboxId?: string | undefined;
  readonly templateId?: string | undefined;
  /** What 404 means here. */
  readonly notFound?: ErrorReason | undefined;
  /** The server may see the call twice without harm. */
  readonly isIdempotent: boolean;
  /** Called right before the request leaves for the first time: from then on the server may have it. */
  readonly onSend?: (() => void) | undefined;
}

/** What a control plane has: the shared wire and what one service adds to it. */
type ControlPaths = LifecyclePaths & FcMountPaths;

/** Calls to the control plane, typed by the contract. Every failure rejects with a typed error or the abort reason. */
export interface RestClient<Paths extends object = ControlPaths> {
  call<T>(options: RestCallOptions, send: (operations: Operations<Paths>) => Promise<{ data?: T }>): Promise<RestAnswer<T>>;
  /** Open a stream with GET; the request timeout ends with its head. */
  stream(options: RestCallOptions, path: string, headers: Readonly<Record<string, string>>): Promise<HttpResponse>;
}

/** Open a client for the control plane. */
export function createRestClient<Paths extends object = ControlPaths>(rest: RestOptions): RestClient<Paths> {
  const toContext = (options: RestCallOptions): CallContext => {
    const context: CallContext = { ...options, peer: "control" };
    if (rest.apiKey) return context;
    throw new AuthenticationError(`${options.operation} needs an API key: pass apiKey or set AGENT_SANDBOX_API_KEY`, optionsOf(context));
  };
  const openDeadline = (options: RestCallOptions) =>
    new Deadline({ ...options, requestTimeoutMs: options.requestTimeoutMs ?? rest.requestTimeoutMs, telemetry: rest.telemetry });
  return {
    stream: async (options, path, headers) => {
      const context = toContext(options);
      const deadline = openDeadline(options);
      try {
        const request = {
          method: "GET",
          url: `${rest.baseUrl}${path}`,
          headers: { ...rest.apiHeaders, ...headers, ...(await identity(rest, deadline.signal)) },
          signal: deadline.signal,
          isIdempotent: true,
        };
        const policy = { retries: rest.retries, statuses: GATEWAY_STATUSES };
        const answer = await sendWithRetry(deadline.over(rest.http), request, policy, deadline.endsAtMs);
        if (answer.status !== 200) throw await errorFromResponse(answer, context, deadline.signal);
        // From here on only the caller ends the stream, so the deadline keeps listening to it.
        deadline.stopTimer();
        logAnswer(rest.logger, context, { response: answer, method: "GET" }, deadline);
        return deadline.span?.endWith(answer) ?? answer;
      } catch (error) {
        logFailure(rest.logger, context, deadline.failed(error), deadline);
        deadline[Symbol.dispose]();
        throw error;
      }
    },
    call: async <T>(options: RestCallOptions, send: (operations: Operations<Paths>) => Promise<{ data?: T }>) => {
      const context = toContext(options);
      using deadline = openDeadline(options);
      try {
        const operations = openOperations<Paths>(rest.baseUrl, (request) => exchange(rest, options, context, deadline, request));
        const answer = (await send(operations)) as RestAnswer<T>; // what `exchange` resolved to
        deadline.span?.learn(answer.data);
        return answer;
      } catch (error) {
        const failure = deadline.failed(explain(error, context, deadline));
        logFailure(rest.logger, context, failure, deadline);
        throw failure;
      }
    },
  };
}

function explain(error: unknown, context: CallContext, deadline: Deadline): unknown {
  if (deadline.signal.aborted) return deadline.signal.reason;
  if (SandboxError.isInstance(error)) return error;
  return new ProtocolError(`${context.operation}: the answer cannot be understood`, { ...optionsOf(context), cause: error });
}

async function identity({ apiKey }: RestOptions, signal: AbortSignal, refused?: string): Promise<Record<string, string>> {
  const key = typeof apiKey === "function" ? await apiKey({ signal, refused }) : apiKey;
  return { ...(typeof key === "string" && { "x-api-key": key }), "user-agent": `agent-sandbox-js/${VERSION}` };
}

async function exchange(
  rest: RestOptions,
  options: RestCallOptions,
  context: CallContext,
  deadline: Deadline,
  request: RestRequest,
): Promise<RestAnswer<never>> {
  const send = (identity: Readonly<Record<string, string>>) =>
    sendWithRetry(
      withWholeAnswers(deadline.over(rest.http), isSuccess),
      {
        ...request,
        headers: { ...rest.apiHeaders, ...request.headers, ...identity },
        signal: deadline.signal,
        isIdempotent: options.isIdempotent,
      },
      { retries: rest.retries, statuses: GATEWAY_STATUSES },
      deadline.endsAtMs,
    );
  const first = await identity(rest, deadline.signal);
  options.onSend?.();
  let answer = await send(first);
  if (answer.status === 401 && typeof rest.apiKey === "function") {
    // A request that was not let in was not carried out, so another key may try.
    const other = await identity(rest, deadline.signal, first["x-api-key"]);
    if (other["x-api-key"] !== first["x-api-key"]) {
      await answer.bytes().catch(() => undefined);
      answer = await send(other);
    }
  }
  if (!isSuccess(answer.status)) throw await errorFromResponse(answer, context, deadline.signal);
  logAnswer(rest.logger, context, { response: answer, method: request.method }, deadline);
  const bytes = await answer.bytes();
  return { data: bytes.length === 0 ? undefined : JSON.parse(new TextDecoder().decode(bytes)), header: (name) => answer.header(name) };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}
