import type { operations } from "../../../gen/openapi/lifecycle.js";

/** One event of a stream (WHATWG HTML, "Server-sent events"). */
export interface ServerSentEvent {
  readonly id: string;
  readonly type: string;
  /** JSON text. */
  readonly data: string;
}

/** Name of an operation of the contract. */
export type OperationId = keyof operations;

type SuccessStatus = 200 | 201 | 202 | 204;
type QueryOf<O> = O extends { parameters: { query?: infer Q } } ? Exclude<Q, undefined> : never;
type HeaderOf<O> = O extends { parameters: { header?: infer H } } ? Exclude<H, undefined> : never;
type PathOf<O> = O extends { parameters: { path: infer P } } ? P : never;
type BodyOf<O> = O extends { requestBody?: infer R }
  ? Exclude<R, undefined> extends { content: { "application/json": infer B } }
    ? B
    : Exclude<R, undefined> extends { content: { "application/octet-stream": unknown } }
      ? ByteBody
      : never
  : never;

/** A body of bytes as it comes. */
export interface ByteBody {
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The length that the client announced. */
  readonly sizeBytes: number | undefined;
}

/** What a handler gets: validated, with the defaults of the contract filled in. */
export interface OperationRequest<O> {
  readonly path: PathOf<O>;
  readonly query: QueryOf<O>;
  /** Declared headers, by their names in the contract. */
  readonly header: HeaderOf<O>;
  readonly body: BodyOf<O>;
  /** Scheme and authority under which the client reached this platform. */
  readonly origin: string;
  /** The client reached this platform over loopback, and no proxy says that it passed the request on. */
  readonly isSameMachine: boolean;
  /** Aborts when the client leaves before the answer. */
  readonly signal: AbortSignal;
}

type AnswerOf<Responses, Status extends keyof Responses> = {
  readonly status: Status;
  readonly headers?: Readonly<Record<string, string>>;
} & (Responses[Status] extends { content: { "application/json": infer Body } }
  ? { readonly body: Body }
  : Responses[Status] extends { content: { "text/event-stream": unknown } }
    ? { readonly events: AsyncIterable<ServerSentEvent> }
    : { readonly body?: undefined });

/** What a handler gives: one of the successes of the contract. Failures are thrown. */
export type OperationAnswer<O> = O extends { responses: infer Responses }
  ? { [Status in keyof Responses & SuccessStatus]: AnswerOf<Responses, Status> }[keyof Responses & SuccessStatus]
  : never;

/** One handler per operation of the contract; a new operation does not compile until it is handled. */
export type Handlers = {
  readonly [Id in OperationId]: (
    request: OperationRequest<operations[Id]>,
  ) => OperationAnswer<operations[Id]> | Promise<OperationAnswer<operations[Id]>>;
};
