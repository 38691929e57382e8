import type { ErrorReason } from "./reason.js";

/** Connect error codes as they stand in JSON bodies (connectrpc.com/docs/protocol, "Error codes"). */
export type ConnectCodeName =
  | "canceled"
  | "unknown"
  | "invalid_argument"
  | "deadline_exceeded"
  | "not_found"
  | "already_exists"
  | "permission_denied"
  | "resource_exhausted"
  | "failed_precondition"
  | "aborted"
  | "out_of_range"
  | "unimplemented"
  | "internal"
  | "unavailable"
  | "data_loss"
  | "unauthenticated";

interface WireStatus {
  readonly http: number;
  readonly connect: ConnectCodeName;
}

/** Server direction: what a reason looks like on each wire. */
export const STATUS_OF_REASON: Record<ErrorReason, WireStatus> = {
  invalid_argument: { http: 400, connect: "invalid_argument" },
  authentication: { http: 401, connect: "unauthenticated" },
  permission_denied: { http: 403, connect: "permission_denied" },
  not_found: { http: 404, connect: "not_found" },
  sandbox_not_found: { http: 404, connect: "not_found" },
  file_not_found: { http: 404, connect: "not_found" },
  process_not_found: { http: 404, connect: "not_found" },
  template_not_found: { http: 404, connect: "not_found" },
  already_exists: { http: 409, connect: "already_exists" },
  failed_precondition: { http: 409, connect: "failed_precondition" },
  aborted: { http: 409, connect: "aborted" },
  method_not_allowed: { http: 405, connect: "unimplemented" },
  payload_too_large: { http: 413, connect: "resource_exhausted" },
  unsupported_media_type: { http: 415, connect: "invalid_argument" },
  rate_limited: { http: 429, connect: "resource_exhausted" },
  not_enough_space: { http: 507, connect: "resource_exhausted" },
  service_busy: { http: 503, connect: "unavailable" },
  timeout: { http: 504, connect: "deadline_exceeded" },
  sandbox_gone: { http: 502, connect: "unavailable" },
  connection: { http: 502, connect: "unavailable" },
  unimplemented: { http: 501, connect: "unimplemented" },
  protocol: { http: 502, connect: "internal" },
  internal: { http: 500, connect: "internal" },
  command_exit: { http: 500, connect: "aborted" },
};

/** Client direction: the reason of a Connect code whose error carries no detail of ours. */
export const REASON_OF_CONNECT_CODE: Record<ConnectCodeName, ErrorReason> = {
  canceled: "timeout",
  unknown: "internal",
  invalid_argument: "invalid_argument",
  deadline_exceeded: "timeout",
  not_found: "not_found",
  already_exists: "already_exists",
  permission_denied: "permission_denied",
  resource_exhausted: "rate_limited",
  failed_precondition: "failed_precondition",
  aborted: "aborted",
  out_of_range: "invalid_argument",
  unimplemented: "unimplemented",
  internal: "internal",
  unavailable: "sandbox_gone",
  data_loss: "internal",
  unauthenticated: "authentication",
};

const REASON_OF_HTTP_STATUS: Readonly<Record<number, ErrorReason>> = {
  400: "invalid_argument",
  401: "authentication",
  403: "permission_denied",
  404: "not_found",
  405: "method_not_allowed",
  408: "timeout",
  409: "failed_precondition",
  413: "payload_too_large",
  415: "unsupported_media_type",
  429: "rate_limited",
  501: "unimplemented",
  502: "sandbox_gone",
  503: "service_busy",
  504: "timeout",
  507: "not_enough_space",
};

/** Client direction: the reason of a plain HTTP status; 4xx that no row names is `invalid_argument`, the rest `internal`. */
export function reasonOfHttpStatus(status: number): ErrorReason {
  return REASON_OF_HTTP_STATUS[status] ?? (status >= 400 && status < 500 ? "invalid_argument" : "internal");
}
