import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ErrorReason } from "../../errors/reason.js";
import { SandboxError } from "../../errors/sandbox-error.js";
import { STATUS_OF_REASON } from "../../errors/status-map.js";

/** Send JSON, or no body at all when there is none. */
export function sendJson(response: ServerResponse, status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}): void {
  if (body === undefined) {
    // 204 must not have a length; on other statuses clients read an absent one as a body to parse.
    response.writeHead(status, { ...(status !== 204 && { "content-length": "0" }), ...headers }).end();
    return;
  }
  const text = JSON.stringify(body);
  const length = String(Buffer.byteLength(text));
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", "content-length": length, ...headers }).end(text);
}

/** Status and body of an error, as the contract has them; what is not ours is told without its details. */
export function toErrorAnswer(error: unknown): { readonly status: number; readonly body: object } {
  if (isFullDisk(error))
    return errorAnswer(507, "the disk of the platform is full; make room on it, for example by killing sandboxes", "not_enough_space");
  if (!SandboxError.isInstance(error)) return errorAnswer(500, "the platform failed; its log has the details", "internal");
  return errorAnswer(STATUS_OF_REASON[error.reason].http, error.message, error.reason);
}

/** SQLITE_FULL (sqlite.org/rescode.html). */
const SQLITE_FULL = 13;

function isFullDisk(error: unknown): boolean {
  if (SandboxError.isInstance(error) || !(error instanceof Error)) return false;
  const { code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown }; // what Node and its SQLite add
  return code === "ENOSPC" || code === "EDQUOT" || (code === "ERR_SQLITE_ERROR" && errcode === SQLITE_FULL);
}

/** The error body of the contract. */
export function errorAnswer(status: number, message: string, reason: ErrorReason): { readonly status: number; readonly body: object } {
  return { status, body: { code: status, message, error_code: reason } };
}

/** Answer on a bare socket, where there is no response object, and close it. */
export function sendJsonOnSocket(socket: Duplex, status: number, body: object): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}
