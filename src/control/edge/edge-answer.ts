import { toErrorAnswer } from "../rest/json-answer.js";

/** An answer of the edge itself, in place of the sandbox. */
export interface EdgeAnswer {
  readonly status: number;
  readonly body: object;
}

/** The sandbox is unknown, killed or at its end of life. Clients compare this text. */
export function sandboxNotFound(sandboxId: string): EdgeAnswer {
  return { status: 502, body: { sandboxId, message: "The sandbox was not found", code: 502, error_code: "sandbox_gone" } };
}

/** The sandbox lives and nothing listens on the port. Clients compare this text. */
export function portNotOpen(sandboxId: string, port: number): EdgeAnswer {
  return { status: 502, body: { sandboxId, message: "The sandbox is running but port is not open", port, code: 502 } };
}

/** The sandbox is paused and could not be resumed for a request. */
export function couldNotWake(sandboxId: string, error: unknown): EdgeAnswer {
  const { status, body } = toErrorAnswer(error);
  return { status, body: { sandboxId, ...body } };
}

/** The service behind a port ended the connection without an answer. */
export function brokenUpstream(sandboxId: string, port: number): EdgeAnswer {
  return { status: 502, body: { sandboxId, message: "The connection ended before an answer came", port, code: 502 } };
}

/** The port is not public and the token for it is missing or wrong. */
export function trafficRefused(sandboxId: string): EdgeAnswer {
  const message = "The ports of this sandbox are private: send its traffic access token as e2b-traffic-access-token";
  return { status: 403, body: { sandboxId, message, code: 403, error_code: "permission_denied" } };
}

/** The path is one that only the control plane calls. */
export function internalPath(path: string): EdgeAnswer {
  return { status: 404, body: { message: "This path is not served", path, code: 404 } };
}
