/**
 * One HTTP exchange, as the layers above see it.
 *
 * The contract of a client: an aborted signal rejects with `signal.reason` and nothing else; every other failure is a
 * `SandboxError`, also while a body is read; a body that ends early is a failure.
 */
export type HttpClient = (request: HttpRequest) => Promise<HttpResponse>;

/** Bytes to send: at once, or as they come. */
export type HttpBody = Uint8Array | string | AsyncIterable<Uint8Array>;

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The server may see the request twice without harm. */
  readonly isIdempotent?: boolean | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Value of a header, by its lower-case name. */
  header(name: string): string | undefined;
  /** The body as it comes; single use, and leaving the loop early closes the connection. */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body. */
  bytes(): Promise<Uint8Array>;
}

/** The most that is read of an error's body. */
const ERROR_BODY_LIMIT = 64 * 1024;

/** The first 64 KiB of a body as text, for an error message; the rest is not waited for. Never rejects but with the abort reason. */
export async function readErrorText(response: HttpResponse, signal?: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for await (const chunk of response.body) {
      text += decoder.decode(chunk.subarray(0, ERROR_BODY_LIMIT - size), { stream: true });
      size += chunk.length;
      if (size >= ERROR_BODY_LIMIT) break;
    }
  } catch {
    // A status was received, and it tells more than the failure to read its body.
    signal?.throwIfAborted();
  }
  return text;
}

/** Join chunks into one array. */
export function concatBytes(chunks: readonly Uint8Array[], sizeBytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}
