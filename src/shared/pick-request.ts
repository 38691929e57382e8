/** What concerns one request. */
interface OfOneRequest {
  readonly signal?: AbortSignal | undefined;
  readonly requestTimeoutMs?: number | undefined;
}

/** The part of the options that concerns one request. */
export function pickRequest({ signal, requestTimeoutMs }: OfOneRequest): OfOneRequest {
  return { signal, requestTimeoutMs };
}
