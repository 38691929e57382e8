import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../../gen/proto/agentsandbox/errors/v1/error_info_pb.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { type ConnectCodeName, STATUS_OF_REASON } from "../errors/status-map.js";
import { WrongKindError } from "./filesystem/file-error.js";

const CODE_OF_NAME: Record<ConnectCodeName, Code> = {
  canceled: Code.Canceled,
  unknown: Code.Unknown,
  invalid_argument: Code.InvalidArgument,
  deadline_exceeded: Code.DeadlineExceeded,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  aborted: Code.Aborted,
  out_of_range: Code.OutOfRange,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  data_loss: Code.DataLoss,
  unauthenticated: Code.Unauthenticated,
};

/** The one place where an exception of a handler becomes an RPC error; its reason travels in the detail. */
export const errorDetails: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: mapErrors(response.message) } : response;
  } catch (error) {
    throw toConnectError(error);
  }
};

async function* mapErrors<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (error) {
    throw toConnectError(error);
  }
}

/** The RPC error of whatever a handler threw. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!SandboxError.isInstance(error)) {
    return new ConnectError(error instanceof Error ? error.message : "the daemon failed", Code.Internal, undefined, undefined, error);
  }
  const detail = { desc: ErrorInfoSchema, value: { reason: error.reason, domain: "agent-sandbox" } };
  const code = error instanceof WrongKindError ? Code.Internal : CODE_OF_NAME[STATUS_OF_REASON[error.reason].connect];
  return new ConnectError(error.message, code, undefined, [detail], error);
}
