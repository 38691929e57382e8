import { ConnectionError, InvalidArgumentError, ProtocolError, TimeoutError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import type { CommandArgument } from "../shared/command-arguments.js";
import { concatBytes } from "../shared/concat-bytes.js";
import { startLongTimer } from "../shared/long-timer.js";
import { deriveServerToken } from "../shared/server-token.js";
import type { RequestOptions } from "../transport/config.js";
import { Deadline } from "../transport/deadline.js";
import { type HttpClient, type HttpResponse, readErrorText } from "../transport/http.js";
import { NO_STATUSES, sendWithRetry } from "../transport/retry.js";
import { readServerSentEvents } from "../transport/server-sent-events.js";
import type { Telemetry } from "../transport/telemetry.js";
import { toSandboxGoneError } from "../transport/wire-errors.js";
import { parseFields, type ServerCall, toArguments, toFields, toServerError } from "./named-command-errors.js";

/** A command as the server lists it. */
export interface ServerCommand {
  readonly name: string;
  readonly description: string;
  readonly args: readonly CommandArgument[];
}

/** Where the command server is, and what it wants. */
export interface ServerTarget {
  readonly port: number;
  /** `undefined`: the one that {@link deriveServerToken} gives. */
  readonly serverToken: string | undefined;
}

/** One call of a command. */
export interface NamedCall extends ServerTarget {
  readonly operation: string;
  readonly signal: AbortSignal | undefined;
  /** `0` is no limit. */
  readonly timeoutMs: number;
}

/** Calls to the command server of one sandbox. */
export interface NamedCommandClient {
  /** Commands that are not hidden. */
  list(target: ServerTarget, options: RequestOptions): Promise<readonly ServerCommand[]>;
  /** Run a command: what it reports on its way, then what it returns. Leaving the iteration ends the command. */
  run(name: string, args: Readonly<Record<string, unknown>>, call: NamedCall): AsyncGenerator<unknown, unknown, undefined>;
  /** Whether a server answers. */
  isServing(target: ServerTarget, options: RequestOptions): Promise<boolean>;
  /** The token that it sends unless another is given; `undefined` where the sandbox has none itself. */
  token(): Promise<string | undefined>;
}

/** How the ports of one sandbox are reached. */
export interface NamedCommandSettings {
  readonly http: HttpClient;
  readonly sandboxId: string;
  readonly templateId?: string | undefined;
  readonly telemetry?: Telemetry | undefined;
  readonly accessToken: string | undefined;
  readonly requestTimeoutMs: number;
  readonly retries: number;
  /** Base URL and routing headers of a port. */
  readonly toPort: (port: number) => { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };
  /** Status of the daemon's health; `undefined` when nothing answers. */
  readonly probeHealth: () => Promise<number | undefined>;
}

interface ServerRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly accept: string;
  readonly body?: string;
}

/** Most bytes of a list, and of one result or report. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
const MAX_RESULT_BYTES = 16 * 1024 * 1024;
const MAX_COMMANDS = 10_000;
const MAX_NAME_LENGTH = 128;
const MAX_DESCRIPTION_LENGTH = 10_000;

/** Open the client. Nothing is sent yet. */
export function createNamedCommandClient(settings: NamedCommandSettings): NamedCommandClient {
  let derived: Promise<string | undefined> | undefined;
  const token = () => {
    derived ??= settings.accessToken === undefined ? Promise.resolve(undefined) : deriveServerToken(settings.accessToken);
    return derived;
  };

  const exchange = async (request: ServerRequest, target: ServerTarget, call: ServerCall, deadline: Deadline): Promise<HttpResponse> => {
    const { baseUrl, headers } = settings.toPort(target.port);
    const presented = target.serverToken ?? (await token());
    const { method, path, accept, body } = request;
    const response = await sendWithRetry(
      deadline.over(settings.http),
      {
        method,
        url: baseUrl + path,
        headers: {
          ...headers,
          accept,
          ...(presented !== undefined && { "x-access-token": presented }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        body,
        signal: deadline.signal,
        isIdempotent: method === "GET",
      },
      { retries: settings.retries, statuses: NO_STATUSES },
      deadline.endsAtMs,
    );
    if (response.status >= 200 && response.status < 300) return response;
    const text = await readErrorText(response, deadline.signal);
    // The edge answers so for a sandbox that is gone, and the guest may answer so too.
    const isGone = response.status === 502 && (await settings.probeHealth()) === 502;
    throw toServerError(response.status, text, { ...call, isGone });
  };

  const explain = async (error: unknown, call: ServerCall, deadline: Deadline): Promise<unknown> =>
    deadline.failed(await findCause(error, call, deadline));

  const findCause = async (error: unknown, call: ServerCall, deadline: Deadline): Promise<unknown> => {
    if (deadline.signal.aborted) return deadline.signal.reason;
    if (error instanceof RangeError)
      return new ProtocolError(`${call.operation}: ${error.message}`, { operation: call.operation, cause: error });
    if (!SandboxError.isInstance(error) || error.reason !== "connection") return error;
    if ((await settings.probeHealth()) === 502) return toSandboxGoneError({ ...call, peer: "daemon" }, { cause: error, isInFlight: true });
    return error;
  };

  const { sandboxId, templateId, telemetry } = settings;
  const openDeadline = (operation: string, { signal, requestTimeoutMs = settings.requestTimeoutMs }: RequestOptions) =>
    new Deadline({ operation, signal, requestTimeoutMs, sandboxId, templateId, telemetry });

  return {
    token,
    list: async (target, options) => {
      const call = { operation: "sandbox.listCommands", sandboxId: settings.sandboxId, port: target.port };
      using deadline = openDeadline(call.operation, options);
      try {
        const response = await exchange({ method: "GET", path: "/commands", accept: "application/json" }, target, call, deadline);
        return toCommands(parseFields(await readText(response, MAX_LIST_BYTES, call)).commands);
      } catch (error) {
        throw await explain(error, call, deadline);
      }
    },

    isServing: async (target, options) => {
      const call = { operation: "sandbox.isServing", sandboxId: settings.sandboxId, port: target.port };
      using deadline = openDeadline(call.operation, options);
      try {
        const response = await exchange({ method: "GET", path: "/health", accept: "application/json" }, target, call, deadline);
        return parseFields(await readText(response, MAX_LIST_BYTES, call)).status === "ok";
      } catch {
        if (deadline.signal.aborted) throw deadline.signal.reason;
        return false;
      }
    },

    async *run(name, args, { operation, signal, timeoutMs, ...target }) {
      const call = { operation, sandboxId: settings.sandboxId, port: target.port, commandName: name };
      using deadline = openDeadline(operation, { signal, requestTimeoutMs: 0 });
      const stopTimer = timeoutMs > 0 ? startLongTimer(timeoutMs, () => deadline.abort(toCommandTimeout(call, timeoutMs))) : () => {};
      const path = `/commands/${encodeURIComponent(name)}`;
      try {
        const request = { method: "POST", path, accept: "text/event-stream, application/json", body: toBody(args, call) } as const;
        const response = await exchange(request, target, call, deadline);
        if (isEventStream(response)) return yield* readRun(response, call);
        const text = await readText(response, MAX_RESULT_BYTES, call);
        const answer = parseFields(text);
        if (!Object.hasOwn(answer, "result")) throw new ProtocolError(`${operation}: the answer holds no result`, { operation });
        return answer.result;
      } catch (error) {
        throw await explain(error, call, deadline);
      } finally {
        stopTimer();
      }
    },
  };
}

/** The events of one run. A stream that ends without a result or an error says nothing about the command. */
async function* readRun(response: HttpResponse, call: ServerCall): AsyncGenerator<unknown, unknown, undefined> {
  for await (const { event, data } of readServerSentEvents(response, MAX_RESULT_BYTES)) {
    const fields = parseFields(data);
    if (event === "progress") yield fields.data ?? null;
    if (event === "result") return fields.result ?? null;
    if (event === "error") {
      const status = typeof fields.status === "number" && fields.status >= 400 && fields.status < 600 ? fields.status : 500;
      throw toServerError(status, data, call);
    }
  }
  throw new ConnectionError(`${call.operation}: the connection ended before the command did; whether it goes on is not known`, {
    operation: call.operation,
    sandboxId: call.sandboxId,
    isRetryable: false,
  });
}

function isEventStream(response: HttpResponse): boolean {
  return (response.header("content-type") ?? "").toLowerCase().startsWith("text/event-stream");
}

function toBody(args: Readonly<Record<string, unknown>>, { operation, commandName }: ServerCall): string {
  try {
    return JSON.stringify(args);
  } catch (cause) {
    throw new InvalidArgumentError(`${operation}: the arguments of '${commandName}' cannot be sent as JSON`, { operation, cause });
  }
}

/** @throws {@link ProtocolError} it is longer than `maxBytes`. */
async function readText(response: HttpResponse, maxBytes: number, { operation, sandboxId }: ServerCall): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > maxBytes) throw new ProtocolError(`${operation}: the answer is above ${maxBytes} bytes`, { operation, sandboxId });
    chunks.push(chunk);
  }
  return new TextDecoder().decode(concatBytes(chunks, size));
}

function toCommands(value: unknown): readonly ServerCommand[] {
  if (!Array.isArray(value))
    throw new ProtocolError("sandbox.listCommands: the answer is not a list", { operation: "sandbox.listCommands" });
  return value.slice(0, MAX_COMMANDS).flatMap((entry: unknown) => {
    const { name, description, args } = toFields(entry);
    if (typeof name !== "string" || name === "") return [];
    const said = typeof description === "string" ? description.slice(0, MAX_DESCRIPTION_LENGTH) : "";
    return { name: name.slice(0, MAX_NAME_LENGTH), description: said, args: toArguments(args) };
  });
}

function toCommandTimeout({ operation, sandboxId, commandName }: ServerCall, timeoutMs: number): TimeoutError {
  return new TimeoutError(
    `${operation}: command '${commandName}' did not end within timeoutMs (${timeoutMs} ms); raise it, or pass 0 for no limit`,
    {
      operation,
      sandboxId,
      timeout: "command",
    },
  );
}
