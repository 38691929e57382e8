import { RateLimitError, TimeoutError } from "../errors/error-classes.js";
import { errorFromReason } from "../errors/error-from-reason.js";
import { type ErrorReason, isErrorReason } from "../errors/reason.js";
import type { SandboxError, SandboxErrorOptions } from "../errors/sandbox-error.js";
import { type ConnectCodeName, REASON_OF_CONNECT_CODE, reasonOfHttpStatus } from "../errors/status-map.js";
import { type HttpResponse, readErrorText } from "./http.js";
import { parseRetryAfterMs } from "./retry.js";

/** What was being done when the wire answered with an error. */
export interface CallContext {
  /** `namespace.method`. */
  readonly operation: string;
  readonly sandboxId?: string | undefined;
  /** What a plain 404 of this call means. @defaultValue "not_found" */
  readonly notFound?: ErrorReason | undefined;
  /** `control` is the REST API; on `daemon`, 502 says that the sandbox is gone. */
  readonly peer: "control" | "daemon";
  /** A Connect call: there, a plain 404 says that the peer has no such method. */
  readonly isRpc?: boolean;
}

const EXCERPT_LENGTH = 300;

/** The error of an HTTP answer that is not a success, whatever its body is: ours, foreign JSON, a web page or nothing. */
export async function errorFromResponse(response: HttpResponse, context: CallContext, signal?: AbortSignal): Promise<SandboxError> {
  const text = await readErrorText(response, signal);
  const body = parseObject(text);
  const bodyCode = body?.code;
  const connectCode = typeof bodyCode === "string" ? toConnectCode(bodyCode) : undefined;
  const requestId = requestIdOf(response) ?? (typeof body?.requestId === "string" ? body.requestId : undefined);
  if (connectCode !== undefined) {
    const message = typeof body?.message === "string" ? body.message : "";
    return errorFromConnect({ code: connectCode, message, details: body?.details }, context, { statusCode: response.status, requestId });
  }
  const program = response.status === 500 ? /fork\/exec (\S+): no such file or directory/.exec(text)?.[1] : undefined;
  if (program !== undefined) {
    const what = `the template has no ${program}: use one whose image has it`;
    return build("failed_precondition", `${context.operation} failed: ${what}`, { ...optionsOf(context), statusCode: 500 }, undefined);
  }
  const isStatus = typeof bodyCode === "number" && Number.isInteger(bodyCode) && bodyCode >= 400 && bodyCode < 600;
  const statusCode = isStatus ? bodyCode : response.status;
  const reason = isErrorReason(body?.error_code) ? body.error_code : reasonOfStatus(statusCode, context);
  const said = typeof body?.message === "string" && body.message !== "" ? body.message : excerptOf(text);
  const message = `${context.operation} failed with status ${statusCode}${said === "" ? "" : `: ${said}`}`;
  const retryAfterMs = parseRetryAfterMs(response.header("retry-after"));
  return build(reason, message, { ...optionsOf(context), statusCode, ...(requestId !== undefined && { requestId }) }, retryAfterMs);
}

/** The error part of a Connect answer, before it is understood. */
export interface ConnectErrorBody {
  readonly code: ConnectCodeName;
  readonly message: string;
  readonly details?: unknown;
}

/** The error that a peer raised through Connect. */
export function errorFromConnect(
  error: ConnectErrorBody,
  context: CallContext,
  facts: { readonly statusCode?: number | undefined; readonly requestId?: string | undefined } = {},
): SandboxError {
  const known = reasonInDetails(error.details);
  const isNotFound = error.code === "not_found" && context.notFound !== undefined;
  const reason = known ?? (isNotFound ? context.notFound : REASON_OF_CONNECT_CODE[error.code]);
  const said = error.message === "" ? error.code : error.message;
  const options = {
    ...optionsOf(context),
    ...(facts.statusCode !== undefined && { statusCode: facts.statusCode }),
    ...(facts.requestId !== undefined && { requestId: facts.requestId }),
  };
  return build(reason, `${context.operation} failed: ${said}`, options, undefined);
}

/** The error for a sandbox that the edge no longer knows. */
export function toSandboxGoneError(
  context: CallContext,
  facts: { readonly cause?: unknown; readonly isInFlight?: boolean } = {},
): TimeoutError {
  const what = facts.isInFlight
    ? "The sandbox was killed or reached its end of life while the request was in flight."
    : "The sandbox was not found: it was killed or reached its end of life. Give create a longer timeoutMs, or prolong it with setTimeout.";
  return new TimeoutError(`${context.operation} failed: ${what}`, {
    ...optionsOf(context),
    timeout: "sandbox",
    ...(facts.cause !== undefined && { cause: facts.cause }),
  });
}

/** Facts of a context that every error carries. */
export function optionsOf({ operation, sandboxId }: Pick<CallContext, "operation" | "sandboxId">): SandboxErrorOptions {
  return { operation, ...(sandboxId !== undefined && { sandboxId }) };
}

function build(reason: ErrorReason, message: string, options: SandboxErrorOptions, retryAfterMs: number | undefined): SandboxError {
  if (reason === "rate_limited") return new RateLimitError(message, { ...options, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  return errorFromReason(reason, message, options);
}

function reasonOfStatus(status: number, context: CallContext): ErrorReason {
  if (status === 404 && context.isRpc) return "unimplemented";
  if (status === 404 && context.notFound !== undefined) return context.notFound;
  // A gateway before the control plane answers 502 too; there it says nothing about a sandbox.
  if (status === 502 && context.peer === "control") return "internal";
  if (status < 400) return "protocol";
  return reasonOfHttpStatus(status);
}

/** The name that the server gave the request, where it gave one. */
export function requestIdOf(response: HttpResponse): string | undefined {
  return response.header("x-fc-request-id") ?? response.header("x-acs-request-id") ?? response.header("x-request-id");
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined; // any object is such a record
  } catch {
    return undefined;
  }
}

/** One line of what a foreign peer said; markup is left out. */
function excerptOf(text: string): string {
  const line = text
    .replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  return line.length > EXCERPT_LENGTH ? `${line.slice(0, EXCERPT_LENGTH)}…` : line;
}

/** Narrow a string from the wire to a Connect code. */
export function toConnectCode(value: string): ConnectCodeName | undefined {
  return Object.hasOwn(REASON_OF_CONNECT_CODE, value) ? (value as ConnectCodeName) : undefined; // the check is the line itself
}

/** The reason in an ErrorInfo detail: field 1 is the reason both in our message and in `google.rpc.ErrorInfo`. */
function reasonInDetails(details: unknown): ErrorReason | undefined {
  if (!Array.isArray(details)) return undefined;
  for (const detail of details as unknown[]) {
    if (typeof detail !== "object" || detail === null || !("type" in detail) || !("value" in detail)) continue;
    if (typeof detail.type !== "string" || !detail.type.endsWith(".ErrorInfo") || typeof detail.value !== "string") continue;
    const reason = firstString(detail.value);
    if (isErrorReason(reason)) return reason;
  }
  return undefined;
}

/** Field 1 of a binary message in base64, when it comes first and is a string shorter than 128 bytes. */
function firstString(base64: string): string | undefined {
  let bytes: string;
  try {
    bytes = atob(base64);
  } catch {
    return undefined;
  }
  const length = bytes.charCodeAt(1);
  return bytes.charCodeAt(0) === 0x0a && length < 0x80 ? bytes.slice(2, 2 + length) : undefined;
}
