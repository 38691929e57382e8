import { concatBytes } from "../shared/concat-bytes.js";
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

/**
 * A client for calls with small answers: an answer is there once its body is, so that one which breaks off in the middle is as lost as one
 * that never came, and is asked for again under the same rules.
 *
 * @param isRead of which statuses the body matters; of a failure no more than 64 KiB are read
 */
export function withWholeAnswers(send: HttpClient, isRead: (status: number) => boolean): HttpClient {
  return async (request) => {
    const response = await send(request);
    const { status } = response;
    if (!isRead(status)) return response;
    const bytes = status < 400 ? await response.bytes() : await readBeginning(response);
    return { status, header: (name) => response.header(name), body: once(bytes), bytes: async () => bytes };
  };
}

async function readBeginning(response: HttpResponse): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= ERROR_BODY_LIMIT) break;
  }
  return concatBytes(chunks, size);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
