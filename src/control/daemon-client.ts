import { type IncomingMessage, type RequestOptions, request } from "node:http";
import { InternalError, TimeoutError } from "../errors/error-classes.js";
import type { Instance } from "./drivers/driver.js";
import type { EgressSetup } from "./egress/egress-service.js";

/** What a daemon learns once it belongs to a sandbox (`POST /init`). */
export interface DaemonInit {
  readonly sandboxId: string;
  readonly templateId: string;
  /** Absent: the daemon asks for no token. */
  readonly accessToken?: string | undefined;
  readonly envVars: Readonly<Record<string, string>>;
  /** Absent: as it was, at first `user` and its home. */
  readonly defaultUser?: string;
  readonly defaultWorkdir?: string;
  /** Start the first kernel of the code interpreter ahead, where kernels are installed. */
  readonly startKernel?: boolean;
  /** The way out; absent: there is none. */
  readonly egress?: EgressSetup | undefined;
}

/**
 * Give the daemon its identity; resolves when it has answered, so it is ready for everything else.
 *
 * @throws {@link TimeoutError} no answer within `timeoutMs`; {@link InternalError} the daemon ended or refused.
 */
export async function initDaemon(instance: Instance, init: DaemonInit, timeoutMs: number): Promise<void> {
  const body = JSON.stringify({ ...init, timestamp: new Date().toISOString() });
  const headers = { host: "localhost", "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const { status, text } = await exchange(instance, { method: "POST", path: "/init", headers }, body, timeoutMs);
  if (status !== 204)
    throw new InternalError(`the daemon of sandbox "${instance.id}" refused its set-up with ${status}: ${text.slice(0, 300)}`);
}

/** True when the daemon answers its health check within `timeoutMs`. */
export async function isDaemonAlive(instance: Instance, timeoutMs: number): Promise<boolean> {
  try {
    const { status } = await exchange(instance, { method: "GET", path: "/health", headers: { host: "localhost" } }, undefined, timeoutMs);
    return status === 204;
  } catch {
    return false;
  }
}

/** Answers of these private calls are short; a longer one is cut, so a hostile daemon cannot fill the memory. */
const MAX_ANSWER_BYTES = 64 * 1024;

async function exchange(instance: Instance, options: RequestOptions, body: string | undefined, timeoutMs: number) {
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const socket = await beforeDeadline(instance.connect(), deadline);
    try {
      return await new Promise<{ status: number; text: string }>((resolve, reject) => {
        const outgoing = request({ ...options, createConnection: () => socket, signal: deadline });
        outgoing.on("error", reject);
        outgoing.on("response", (response) =>
          collect(response).then((text) => resolve({ status: response.statusCode ?? 0, text }), reject),
        );
        outgoing.end(body);
      });
    } finally {
      socket.destroy();
    }
  } catch (cause) {
    if (deadline.aborted) {
      throw new TimeoutError(`the daemon of sandbox "${instance.id}" did not answer within ${timeoutMs} ms`, { timeout: "request", cause });
    }
    throw new InternalError(`the daemon of sandbox "${instance.id}" ended before it answered`, { cause });
  }
}

async function beforeDeadline<T extends { destroy(): void }>(pending: Promise<T>, deadline: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    deadline.addEventListener("abort", () => reject(deadline.reason), { once: true });
    pending.then((value) => (deadline.aborted ? value.destroy() : resolve(value)), reject);
  });
}

async function collect(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
