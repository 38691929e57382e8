import { type Attributes, type Context, context, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";
import { isBytes } from "../shared/is-bytes.js";
import type { HttpBody, HttpClient, HttpRequest, HttpResponse } from "../transport/http.js";
import { toContextHeaders } from "./context-headers.js";
import { errorType } from "./error-type.js";

export interface RequestSpanParts {
  readonly tracer: Tracer;
  readonly parent: Context;
  /** Requests of the same call before this one. */
  readonly resendCount: number;
  /** Of a whole body, or of what came of it. */
  readonly onBytes: (bytes: number, direction: "transmit" | "receive") => void;
  /** The answer is read in pieces. */
  readonly onStream: () => void;
  readonly onEnd: () => void;
}

/** The span of one HTTP request: until its answer was read, or until the call ended that it belongs to. */
export class RequestSpan {
  readonly #parts: RequestSpanParts;
  #span: Span | undefined;

  constructor(parts: RequestSpanParts) {
    this.#parts = parts;
  }

  async send(http: HttpClient, request: HttpRequest, propagates: boolean): Promise<HttpResponse> {
    const { tracer, parent } = this.#parts;
    const { name, attributes } = describe(request, this.#parts.resendCount);
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
    this.#span = span;
    const own = trace.setSpan(parent, span);
    const headers = propagates ? { ...request.headers, ...toContextHeaders(own) } : request.headers;
    const sent = { ...request, headers, body: this.#countSent(request.body) };
    try {
      // Whatever watches HTTP below finds this span, and not the caller's.
      const response = await context.with(own, () => http(sent));
      span.setAttribute("http.response.status_code", response.status);
      if (response.status >= 400) this.#fail(String(response.status));
      return this.#watch(response);
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  end(): void {
    this.#span?.end();
    this.#span = undefined;
    this.#parts.onEnd();
  }

  #watch(response: HttpResponse): HttpResponse {
    return {
      status: response.status,
      header: (name) => response.header(name),
      body: this.#read(response),
      bytes: async () => {
        try {
          const bytes = await response.bytes();
          this.#parts.onBytes(bytes.length, "receive");
          this.end();
          return bytes;
        } catch (error) {
          this.#end(error);
          throw error;
        }
      },
    };
  }

  async *#read({ body }: HttpResponse): AsyncGenerator<Uint8Array, void, undefined> {
    this.#parts.onStream();
    let sizeBytes = 0;
    try {
      for await (const chunk of body) {
        sizeBytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      this.#fail(errorType(error));
      throw error;
    } finally {
      this.#parts.onBytes(sizeBytes, "receive");
      this.end();
    }
  }

  #countSent(body: HttpBody | undefined): HttpBody | undefined {
    if (body === undefined) return undefined;
    if (typeof body === "string") this.#parts.onBytes(new TextEncoder().encode(body).length, "transmit");
    else if (isBytes(body)) this.#parts.onBytes(body.byteLength, "transmit");
    else return this.#countPieces(body);
    return body;
  }

  async *#countPieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    let sizeBytes = 0;
    try {
      for await (const chunk of body) {
        sizeBytes += chunk.length;
        yield chunk;
      }
    } finally {
      this.#parts.onBytes(sizeBytes, "transmit");
    }
  }

  #end(error: unknown): void {
    this.#fail(errorType(error));
    this.end();
  }

  #fail(type: string): void {
    this.#span?.setAttribute("error.type", type).setStatus({ code: SpanStatusCode.ERROR });
  }
}

/**
 * Names of the semantic conventions. A query may hold paths, names of users and signatures, so it stays out, and so does what stands before the
 * host.
 */
function describe({ method, url, headers }: HttpRequest, resendCount: number): { readonly name: string; readonly attributes: Attributes } {
  const { protocol, hostname, port, host, pathname } = new URL(url);
  const attributes: Attributes = {
    "http.request.method": method,
    "server.address": hostname,
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
    "url.full": `${protocol}//${host}${pathname}`,
    ...(resendCount > 0 && { "http.request.resend_count": resendCount }),
  };
  if (headers["connect-protocol-version"] === undefined) return { name: method, attributes };
  const [, service = "", name = ""] = pathname.split("/");
  return {
    name: `${service}/${name}`,
    attributes: { ...attributes, "rpc.system": "connect_rpc", "rpc.service": service, "rpc.method": name },
  };
}
