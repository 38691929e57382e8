import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { ConnectionError, ProtocolError, SandboxNotFoundError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { logAnswer, logFailure } from "./call-log.js";
import { Deadline } from "./deadline.js";
import { COMPRESSED_FLAG, END_STREAM_FLAG, EnvelopeReader, encodeEnvelope } from "./envelope.js";
import { type HttpResponse, withWholeAnswers } from "./http.js";
import { NO_STATUSES, sendWithRetry } from "./retry.js";
import type { RpcCallOptions, RpcClient, RpcOptions, RpcStream, RpcStreamOptions } from "./rpc.js";
import { parse, SERVICES, serialize } from "./rpc-messages.js";
import { toStreamTimeout } from "./stream-timeout.js";
import { type CallContext, errorFromConnect, errorFromResponse, optionsOf, toConnectCode, toSandboxGoneError } from "./wire-errors.js";

// The Connect protocol, and with it the generated services: a large part of the code of a client. `rpc.ts` imports this module when the first
// call needs it, and nothing else does, so that it is no part of what an entry loads.

const KEEPALIVE_MS = 50_000;
/** The daemon ends a stream at its deadline; the client waits this much longer before it does so itself. */
const DEADLINE_GRACE_MS = 2_000;
/** Connect-Timeout-Ms has at most ten digits; more is as good as no limit. */
const MAX_TIMEOUT_MS = 9_999_999_999;

/** The calls of {@link RpcClient}, loaded. */
export function createRpcCalls(client: RpcOptions): Pick<RpcClient, "unary" | "stream"> {
  return {
    unary: (method, input, call) => callUnary(client, method(SERVICES), input, call),
    stream: (method, input, call) => openStream(client, method(SERVICES), input, call),
  };
}

async function callUnary<I extends DescMessage, O extends DescMessage>(
  client: RpcOptions,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  options: RpcCallOptions,
): Promise<MessageShape<O>> {
  const context = toContext(client, options);
  using deadline = openDeadline(client, options);
  try {
    const request = {
      method: "POST",
      url: `${client.baseUrl}/${method.parent.typeName}/${method.name}`,
      headers: { ...headersOf(client, options), "content-type": client.isBinary ? "application/proto" : "application/json" },
      body: serialize(method.input, input, client.isBinary),
      signal: deadline.signal,
      isIdempotent: options.isIdempotent,
    };
    // What an error means stands in its body: half of it would turn a missing file into a missing method.
    const send = withWholeAnswers(deadline.over(client.http), () => true);
    const response = await sendWithRetry(send, request, { retries: client.retries, statuses: NO_STATUSES }, deadline.endsAtMs);
    if (response.status !== 200) throw await errorFromResponse(response, context, deadline.signal);
    logAnswer(client.logger, context, { response, method: method.name }, deadline);
    return decode(client, method.output, await response.bytes(), context);
  } catch (error) {
    throw await explain(client, context, deadline, error);
  }
}

async function openStream<I extends DescMessage, O extends DescMessage>(
  client: RpcOptions,
  method: DescMethodServerStreaming<I, O>,
  input: MessageInitShape<I>,
  options: RpcStreamOptions,
): Promise<RpcStream<MessageShape<O>>> {
  const context = toContext(client, options);
  const deadline = openDeadline(client, options);
  const hasTimeout = options.timeoutMs > 0 && options.timeoutMs <= MAX_TIMEOUT_MS;
  const life = new Deadline({ operation: options.operation, requestTimeoutMs: hasTimeout ? options.timeoutMs + DEADLINE_GRACE_MS : 0 });
  life.signal.addEventListener("abort", () => deadline.abort(toStreamTimeout(context, options.timeoutMs)), { once: true });
  const release = () => {
    deadline[Symbol.dispose]();
    life[Symbol.dispose]();
  };
  try {
    const response = await deadline.over(client.http)({
      method: "POST",
      url: `${client.baseUrl}/${method.parent.typeName}/${method.name}`,
      headers: {
        ...headersOf(client, options),
        "content-type": client.isBinary ? "application/connect+proto" : "application/connect+json",
        "keepalive-ping-interval": String(Math.round((options.keepaliveMs ?? KEEPALIVE_MS) / 1000)),
        ...(hasTimeout && { "connect-timeout-ms": String(options.timeoutMs) }),
      },
      body: encodeEnvelope(0, serialize(method.input, input, client.isBinary)),
      signal: deadline.signal,
    });
    if (response.status !== 200) throw await errorFromResponse(response, context, deadline.signal);
    logAnswer(client.logger, context, { response, method: method.name }, deadline);
    const messages = readMessages(client, method.output, response, context, options.timeoutMs);
    const first = await messages.next();
    if (first.done)
      throw new ProtocolError(`${options.operation}: the daemon ended the stream before its first message`, optionsOf(context));
    deadline.stopTimer();
    return {
      first: first.value,
      rest: untilReleased(client, messages, context, deadline, release),
      cancel: (reason) => {
        deadline.abort(reason);
        release();
      },
    };
  } catch (error) {
    const failure = await explain(client, context, deadline, options.isInFlight ? error : toFirstMessageError(error, context));
    release();
    throw failure;
  }
}

/** Before the first message nothing was in flight: a daemon that cannot be reached means that there is no such sandbox. */
function toFirstMessageError(error: unknown, context: CallContext): unknown {
  if (!SandboxError.isInstance(error) || error.reason !== "sandbox_gone") return error;
  return new SandboxNotFoundError(error.message, { ...optionsOf(context), cause: error });
}

/** The messages of a stream, whose end is the end-of-stream message and nothing else. */
async function* readMessages<O extends DescMessage>(
  client: RpcOptions,
  output: O,
  response: HttpResponse,
  context: CallContext,
  timeoutMs: number,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const reader = new EnvelopeReader();
  for await (const chunk of response.body) {
    for (const { flags, data } of reader.push(chunk)) {
      if ((flags & COMPRESSED_FLAG) !== 0)
        throw new ProtocolError(`${context.operation}: a message is compressed, which was not asked for`, optionsOf(context));
      if ((flags & END_STREAM_FLAG) === 0) {
        yield decode(client, output, data, context);
        continue;
      }
      const error = parseEndOfStream(data, context);
      if (error?.code === "deadline_exceeded") throw toStreamTimeout(context, timeoutMs);
      if (error !== undefined) throw errorFromConnect(error, context);
      return;
    }
  }
  throw new ConnectionError(`${context.operation}: the stream ended before the daemon completed it`, optionsOf(context));
}

function parseEndOfStream(data: Uint8Array, context: CallContext) {
  let end: unknown;
  try {
    end = JSON.parse(new TextDecoder().decode(data));
  } catch (cause) {
    throw new ProtocolError(`${context.operation}: the end-of-stream message is not JSON`, { ...optionsOf(context), cause });
  }
  if (typeof end !== "object" || end === null || !("error" in end) || end.error == null) return undefined;
  const { code, message, details } = end.error as Record<string, unknown>; // a property look-up on any non-null value is safe
  return {
    code: (typeof code === "string" ? toConnectCode(code) : undefined) ?? ("unknown" as const),
    message: typeof message === "string" ? message : "",
    details,
  };
}

async function* untilReleased<T>(
  client: RpcOptions,
  messages: AsyncGenerator<T, void, undefined>,
  context: CallContext,
  deadline: Deadline,
  release: () => void,
): AsyncGenerator<T, void, undefined> {
  try {
    yield* messages;
  } catch (error) {
    throw await explain(client, context, deadline, error);
  } finally {
    release();
  }
}

/** The error that the caller sees: the abort's own reason, or the failure with its cause found out. */
async function explain(client: RpcOptions, context: CallContext, deadline: Deadline, error: unknown): Promise<unknown> {
  const failure = deadline.failed(await findCause(client, context, deadline, error));
  logFailure(client.logger, context, failure, deadline);
  return failure;
}

async function findCause(client: RpcOptions, context: CallContext, deadline: Deadline, error: unknown): Promise<unknown> {
  if (deadline.signal.aborted) return deadline.signal.reason;
  if (!SandboxError.isInstance(error)) {
    return new ProtocolError(`${context.operation}: the answer cannot be understood`, { ...optionsOf(context), cause: error });
  }
  if (error.reason !== "connection") return error;
  const status = await client.probeHealth();
  if (status === 502) return toSandboxGoneError(context, { cause: error, isInFlight: true });
  return new ConnectionError(error.message, { ...optionsOf(context), cause: "cause" in error ? error.cause : error });
}

function toContext(client: RpcOptions, options: RpcCallOptions): CallContext {
  return { operation: options.operation, sandboxId: client.sandboxId, notFound: options.notFound, peer: "daemon", isRpc: true };
}

function openDeadline(client: RpcOptions, options: RpcCallOptions & Pick<RpcStreamOptions, "span">): Deadline {
  return new Deadline({
    operation: options.operation,
    signal: options.signal,
    requestTimeoutMs: options.requestTimeoutMs ?? client.requestTimeoutMs,
    sandboxId: client.sandboxId,
    templateId: client.templateId,
    telemetry: client.telemetry,
    span: options.span,
  });
}

function headersOf(client: RpcOptions, options: RpcCallOptions): Record<string, string> {
  return {
    ...client.headers,
    "connect-protocol-version": "1",
    ...(options.user !== undefined && { authorization: toBasicUser(options.user) }),
  };
}

/** Basic credentials of a user name without a password, as UTF-8 on every runtime. */
function toBasicUser(user: string): string {
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${user}:`)))}`;
}

function decode<O extends DescMessage>(client: RpcOptions, schema: O, bytes: Uint8Array, context: CallContext): MessageShape<O> {
  try {
    return parse(schema, bytes, client.isBinary);
  } catch (cause) {
    throw new ProtocolError(`${context.operation}: the daemon's answer cannot be decoded`, { ...optionsOf(context), cause });
  }
}
