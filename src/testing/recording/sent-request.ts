import type { SentRequest } from "./request-text.js";

/** A request whose body is kept as it is sent. */
export interface ObservedRequest {
  /** For the real `fetch`. */
  readonly init: RequestInit;
  /** The request so far; its body is whole once it was sent. */
  sent(): SentRequest;
}

/** Look at what goes into `fetch` without taking it away. */
export function observeRequest(input: RequestInfo | URL, init: RequestInit = {}): ObservedRequest {
  const headers = new Headers(init.headers);
  const chunks: Uint8Array[] = [];
  const observed: { init: RequestInit } = { init };
  const { body } = init;
  if (typeof body === "string") chunks.push(new TextEncoder().encode(body));
  else if (body instanceof Uint8Array) chunks.push(body);
  else if (body instanceof ReadableStream) {
    const keep = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        chunks.push(chunk);
        controller.enqueue(chunk);
      },
    });
    observed.init = { ...init, body: body.pipeThrough(keep) };
  }
  return {
    init: observed.init,
    sent: () => ({
      method: init.method ?? "GET",
      url: input instanceof Request ? input.url : String(input),
      header: (name) => headers.get(name) ?? undefined,
      body: Buffer.concat(chunks),
    }),
  };
}
