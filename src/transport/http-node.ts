import type * as http from "node:http";
import { ConnectionError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { concatBytes } from "../shared/concat-bytes.js";
import { reclaimBuffers } from "../shared/reclaim-buffers-node.js";
import type { HttpBody, HttpClient, HttpRequest, HttpResponse } from "./http.js";
import { createProxyAgents } from "./proxy-agent-node.js";

/** Idle milliseconds after which a kept connection is closed: below the idle limit of the servers we know, so they rarely close first. */
const IDLE_SOCKET_MS = 30_000;

/** The modules of one protocol with the pool of its connections. */
interface Protocol {
  readonly request: typeof http.request;
  readonly agent: http.Agent;
}

/**
 * HTTP over `node:http` with one pool of kept connections per client.
 *
 * Nothing times out by being idle: a stream may be silent for as long as its caller wants. A request that a kept connection
 * loses before any byte of the answer came is sent once more when it is idempotent.
 */
export function createNodeHttpClient(options: { readonly proxy?: string | undefined }): HttpClient {
  const protocols = new Map<string, Protocol>();
  const protocolOf = (name: string): Protocol => {
    const known = protocols.get(name);
    if (known !== undefined) return known;
    const opened = openProtocol(name, options.proxy);
    protocols.set(name, opened);
    return opened;
  };
  return async (request) => {
    try {
      return await exchange(protocolOf, request);
    } catch (error) {
      if (!(error instanceof LostConnection)) throw error;
      if (
        !error.isReusedConnection ||
        !request.isIdempotent ||
        (typeof request.body === "object" && !(request.body instanceof Uint8Array))
      ) {
        throw toConnectionError(request, error.cause);
      }
    }
    try {
      return await exchange(protocolOf, request);
    } catch (error) {
      throw error instanceof LostConnection ? toConnectionError(request, error.cause) : error;
    }
  };
}

/** Loading these modules costs more than the rest of this package together, so a program pays for what it uses and when. */
function openProtocol(name: string, proxy: string | undefined): Protocol {
  const options = { keepAlive: true, timeout: IDLE_SOCKET_MS, maxFreeSockets: 64, scheduling: "lifo" } as const;
  if (name === "https:") {
    const { Agent, request } = process.getBuiltinModule("node:https");
    return { request, agent: proxy === undefined ? new Agent(options) : createProxyAgents(proxy, options).https };
  }
  const { Agent, request } = process.getBuiltinModule("node:http");
  return { request, agent: proxy === undefined ? new Agent(options) : createProxyAgents(proxy, options).http };
}

/** The connection failed before the first byte of an answer. Internal to this file. */
class LostConnection extends Error {
  constructor(
    override readonly cause: unknown,
    readonly isReusedConnection: boolean,
  ) {
    super("connection lost");
  }
}

function exchange(protocolOf: (name: string) => Protocol, request: HttpRequest): Promise<HttpResponse> {
  const { signal } = request;
  signal?.throwIfAborted();
  const url = new URL(request.url);
  const protocol = protocolOf(url.protocol);
  return new Promise((resolve, reject) => {
    const message = protocol.request({
      protocol: url.protocol,
      hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
      port: url.port || undefined,
      path: url.pathname + url.search,
      method: request.method,
      headers: { ...request.headers, ...lengthHeader(request.body) },
      agent: protocol.agent,
    });
    const onAbort = () => message.destroy(new Error("aborted"));
    signal?.addEventListener("abort", onAbort, { once: true });
    const release = () => signal?.removeEventListener("abort", onAbort);
    const sending = new AbortController();

    message.once("response", (incoming) => {
      sending.abort();
      resolve(toResponse(request, message, incoming, release));
    });
    message.on("error", (error) => {
      sending.abort();
      release();
      reject(signal?.aborted ? signal.reason : new LostConnection(error, message.reusedSocket));
    });
    send(message, request.body, sending.signal).catch((error: unknown) => {
      // The source of the body failed, and its error is the outcome.
      release();
      message.destroy();
      reject(signal?.aborted ? signal.reason : error);
    });
  });
}

function lengthHeader(body: HttpBody | undefined): Record<string, number> | undefined {
  if (typeof body === "string") return { "content-length": Buffer.byteLength(body) };
  if (body instanceof Uint8Array) return { "content-length": body.byteLength };
  return undefined;
}

/** Write the body as fast as the socket takes it; an answer or an error ends the writing. */
async function send(message: http.ClientRequest, body: HttpBody | undefined, ended: AbortSignal): Promise<void> {
  if (body === undefined || typeof body === "string" || body instanceof Uint8Array) {
    message.end(body);
    return;
  }
  for await (const chunk of body) {
    if (ended.aborted) return;
    if (!message.write(chunk)) await drained(message, ended);
  }
  message.end();
}

/** Resolves when the socket takes more, or when sending is over. */
function drained(message: http.ClientRequest, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onEnd = () => {
      message.off("drain", onEnd);
      ended.removeEventListener("abort", onEnd);
      resolve();
    };
    message.once("drain", onEnd);
    ended.addEventListener("abort", onEnd, { once: true });
    if (ended.aborted) onEnd();
  });
}

function toResponse(request: HttpRequest, message: http.ClientRequest, incoming: http.IncomingMessage, release: () => void): HttpResponse {
  const fail = (error: unknown): unknown => (request.signal?.aborted ? request.signal.reason : toConnectionError(request, error));
  // An error that nobody reads must not become an uncaught exception.
  incoming.on("error", () => {});
  incoming.once("close", release);
  // An answer that came before the whole request was sent leaves a connection that cannot be used again.
  incoming.once("end", () => {
    if (!message.writableEnded) message.destroy();
  });
  return {
    status: incoming.statusCode ?? 0,
    header: (name) => {
      const value = incoming.headers[name];
      return Array.isArray(value) ? value.join(", ") : value;
    },
    body: readBody(incoming, message, fail),
    bytes: () => collect(incoming, fail),
  };
}

async function* readBody(incoming: http.IncomingMessage, message: http.ClientRequest, fail: (error: unknown) => unknown) {
  try {
    for await (const chunk of incoming) {
      const bytes = chunk as Uint8Array; // no encoding is set, so chunks are buffers
      reclaimBuffers(bytes.length);
      yield bytes;
    }
  } catch (error) {
    throw fail(error);
  } finally {
    if (!incoming.complete) message.destroy();
  }
}

function collect(incoming: http.IncomingMessage, fail: (error: unknown) => unknown): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) => {
    const promised = Number(incoming.headers["content-length"]);
    if (Number.isSafeInteger(promised) && promised > 0 && incoming.headers["content-encoding"] === undefined) {
      collectPromised(incoming, promised, resolve, (error) => reject(fail(error)));
      return;
    }
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk);
      size += chunk.length;
    });
    incoming.once("end", () => resolve(concatBytes(chunks, size)));
    incoming.once("error", (error) => reject(fail(error)));
  });
}

/** Copy each chunk straight to its place, which halves the memory and the time of a large body. */
function collectPromised(
  incoming: http.IncomingMessage,
  sizeBytes: number,
  resolve: (bytes: Uint8Array<ArrayBuffer>) => void,
  reject: (error: unknown) => void,
): void {
  const all = new Uint8Array(sizeBytes);
  let offset = 0;
  incoming.on("data", (chunk: Uint8Array) => {
    all.set(chunk, offset);
    offset += chunk.length;
    reclaimBuffers(chunk.length);
  });
  incoming.once("end", () => (offset === sizeBytes ? resolve(all) : reject(new Error(`${offset} of ${sizeBytes} bytes arrived`))));
  incoming.once("error", reject);
}

function toConnectionError(request: HttpRequest, cause: unknown): SandboxError {
  if (SandboxError.isInstance(cause)) return cause;
  const { origin } = new URL(request.url);
  const detail = cause instanceof Error ? ("code" in cause && cause.code ? String(cause.code) : cause.message) : String(cause);
  return new ConnectionError(`the connection to ${origin} failed: ${detail}`, { cause });
}
