import type { ServerResponse } from "node:http";
import type { components } from "../../gen/openapi/server.js";
import { sendJson } from "../daemon/http-response.js";
import { CommandArgumentError, CommandNotFoundError } from "../errors/named-command-errors.js";
import type { ErrorReason } from "../errors/reason.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../errors/status-map.js";
import { messageOf } from "../shared/message-of.js";

type ErrorBody = components["schemas"]["Error"];

/** A failure of a route whose status and type the contract names itself. */
export class RouteFailure extends Error {
  override readonly name: string = "RouteFailure";
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly reason?: ErrorReason,
  ) {
    super(message);
  }
}

/** An error as it goes over the wire. */
export interface WireFailure {
  readonly status: number;
  readonly body: ErrorBody;
}

/** Names of kinds of errors that clients of this wire know. */
const TYPE_OF_REASON: Partial<Record<ErrorReason, string>> = {
  authentication: "AuthError",
  permission_denied: "PermissionError",
  file_not_found: "FileNotFoundError",
  process_not_found: "NotFoundError",
  rate_limited: "ResourceError",
  timeout: "TimeoutError",
  internal: "RuntimeError",
  unimplemented: "RuntimeError",
  failed_precondition: "RuntimeError",
};

const TYPE_OF_CODE: Readonly<Record<string, WireStatus>> = {
  ENOENT: { status: 404, type: "FileNotFoundError", reason: "file_not_found" },
  EISDIR: { status: 400, type: "IsADirectoryError", reason: "invalid_argument" },
  ENOTDIR: { status: 400, type: "NotADirectoryError", reason: "invalid_argument" },
  EEXIST: { status: 400, type: "FileExistsError", reason: "already_exists" },
  ENOTEMPTY: { status: 400, type: "OSError", reason: "failed_precondition" },
  EINVAL: { status: 400, type: "OSError", reason: "invalid_argument" },
  ENAMETOOLONG: { status: 400, type: "OSError", reason: "invalid_argument" },
  ELOOP: { status: 400, type: "OSError", reason: "invalid_argument" },
  EACCES: { status: 403, type: "PermissionError", reason: "permission_denied" },
  EPERM: { status: 403, type: "PermissionError", reason: "permission_denied" },
};

interface WireStatus {
  readonly status: number;
  readonly type: string;
  readonly reason: ErrorReason;
}

/** The one place where an exception gets a status and a body. */
export function toWireFailure(error: unknown): WireFailure {
  if (error instanceof RouteFailure) {
    const { status, type, message, reason } = error;
    return { status, body: { error: message, type, ...(reason !== undefined && { error_code: reason }) } };
  }
  if (SandboxError.isInstance(error)) {
    const type = TYPE_OF_REASON[error.reason] ?? (error.cause instanceof TypeError ? "TypeError" : "ValueError");
    return {
      status: STATUS_OF_REASON[error.reason].http,
      body: { error: error.message, type, error_code: error.reason, ...factsOf(error) },
    };
  }
  if (error instanceof Error && "code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code)) {
    const known = TYPE_OF_CODE[error.code];
    const said = `the system refused it (${error.code})`;
    if (known === undefined) return { status: 500, body: { error: said, type: "OSError", error_code: "internal" } };
    const message = known.status === 404 ? "there is no such file or directory" : said;
    return { status: known.status, body: { error: message, type: known.type, error_code: known.reason } };
  }
  const type = error instanceof Error ? error.name : "Error";
  return { status: 500, body: { error: messageOf(error), type, error_code: "internal" } };
}

/** Answer with a failure; an answer that has begun can only be cut. */
export function sendFailure(res: ServerResponse, error: unknown): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const { status, body } = toWireFailure(error);
  // What is left of a body that nobody reads would be taken for the next request.
  sendJson(res, status, body, res.req.complete ? {} : { connection: "close" });
}

function factsOf(error: SandboxError): Partial<ErrorBody> {
  if (error instanceof CommandNotFoundError) return { available: [...error.available] };
  if (error instanceof CommandArgumentError) return { argument: error.argument, args: [...error.expected] };
  return {};
}
