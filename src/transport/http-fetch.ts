import { ConnectionError } from "../errors/error-classes.js";
import { SandboxError } from "../errors/sandbox-error.js";
import { fromReadableStream, toReadableStream } from "../shared/byte-stream.js";
import { concatBytes } from "../shared/concat-bytes.js";
import { isBytes } from "../shared/is-bytes.js";
import type { HttpBody, HttpClient, HttpRequest, HttpResponse } from "./http.js";

/**
 * An HTTP client over a `fetch` function, which is looked up at each call so that a replaced one counts.
 *
 * Redirects are not followed: a redirect to another origin would carry credentials along.
 */
export function createFetchClient(getFetch: () => typeof globalThis.fetch): HttpClient {
  return async (request) => {
    const { signal } = request;
    signal?.throwIfAborted();
    const fail = (cause: unknown): unknown => {
      if (signal?.aborted) return signal.reason;
      // A function of the user's that throws one says what happened, and whether trying again helps.
      return SandboxError.isInstance(cause) ? cause : toConnectionError(request, cause);
    };
    let response: Response;
    try {
      response = await getFetch()(request.url, {
        method: request.method,
        headers: { ...request.headers },
        redirect: "manual",
        ...(signal && { signal }),
        ...(await toBodyInit(request.body)),
      });
    } catch (error) {
      throw fail(error);
    }
    return toResponse(response, fail);
  };
}

function toResponse(response: Response, fail: (cause: unknown) => unknown): HttpResponse {
  return {
    status: response.status,
    // `fetch` has decoded the body, so its encoding and length no longer describe what is read here.
    header: (name) => (name === "content-encoding" ? undefined : (response.headers.get(name) ?? undefined)),
    body: readBody(response.body, fail),
    bytes: async () => {
      try {
        return new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        throw fail(error);
      }
    },
  };
}

async function* readBody(body: ReadableStream<Uint8Array> | null, fail: (cause: unknown) => unknown) {
  if (body === null) return;
  try {
    yield* fromReadableStream(body);
  } catch (error) {
    throw fail(error);
  }
}

async function toBodyInit(body: HttpBody | undefined): Promise<RequestInit & { duplex?: "half" }> {
  if (body === undefined) return {};
  if (typeof body === "string") return { body };
  // BodyInit wants bytes over an ArrayBuffer, which every array here has: none comes from shared memory.
  if (isBytes(body)) return { body: body as Uint8Array<ArrayBuffer> };
  if (canStreamRequests()) return { body: toReadableStream(body), duplex: "half" };
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
  }
  return { body: concatBytes(chunks, size) };
}

/**
 * A runtime that does not know streaming bodies turns the stream into text and never asks for `duplex`. A page knows them, but fails where the
 * server does not speak HTTP/2, and cannot tell that before a part of the stream is gone.
 */
function canStreamRequests(): boolean {
  if ("document" in globalThis || "WorkerGlobalScope" in globalThis) return false;
  let isDuplexRead = false;
  const init = {
    method: "POST",
    body: new ReadableStream(),
    get duplex() {
      isDuplexRead = true;
      return "half";
    },
  };
  const hasContentType = new Request("http://localhost", init).headers.has("content-type");
  return isDuplexRead && !hasContentType;
}

function toConnectionError(request: HttpRequest, cause: unknown): ConnectionError {
  const { origin } = new URL(request.url);
  const detail = cause instanceof Error ? cause.message : "no reason given";
  return new ConnectionError(`the request to ${origin} failed: ${detail}`, { cause });
}
