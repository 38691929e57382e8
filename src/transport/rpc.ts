import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { ErrorReason } from "../errors/reason.js";
import { latePart } from "../shared/load-part.js";
import type { HttpClient } from "./http.js";
import type { SafeLogger } from "./logger.js";
import type { SERVICES } from "./rpc-messages.js";
import type { CallSpan, Telemetry } from "./telemetry.js";

/** How to reach one daemon. */
export interface RpcOptions {
  readonly http: HttpClient;
  readonly baseUrl: string;
  /** Sent with every call: routing and access token. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isBinary: boolean;
  readonly sandboxId: string;
  readonly templateId?: string | undefined;
  readonly requestTimeoutMs: number;
  readonly retries: number;
  readonly logger: SafeLogger;
  readonly telemetry?: Telemetry | undefined;
  /** HTTP status of `GET /health`, or `undefined` when there is no answer. Told apart a dead sandbox from a broken network. */
  readonly probeHealth: () => Promise<number | undefined>;
}

/** One call. */
export interface RpcCallOptions {
  /** `namespace.method`, for errors. */
  readonly operation: string;
  readonly signal?: AbortSignal | undefined;
  readonly requestTimeoutMs?: number | undefined;
  /** User inside the sandbox that the call acts for. */
  readonly user?: string | undefined;
  /** What `not_found` means here. */
  readonly notFound?: ErrorReason | undefined;
  /** The daemon may see the call twice without harm. @defaultValue false */
  readonly isIdempotent?: boolean | undefined;
}

/** One streaming call. */
export interface RpcStreamOptions extends RpcCallOptions {
  /** Life of the stream in milliseconds, told to the daemon; `0` has no end. */
  readonly timeoutMs: number;
  /** Silence after which the daemon sends a keepalive message, in milliseconds. @defaultValue 50_000 */
  readonly keepaliveMs?: number | undefined;
  /** It continues what runs already: then a sandbox that is gone ended meanwhile. @defaultValue false */
  readonly isInFlight?: boolean | undefined;
  /** Of the call that the stream is a part of. */
  readonly span?: CallSpan | undefined;
}

/** A stream whose first message has arrived. */
export interface RpcStream<T> {
  readonly first: T;
  /** The other messages. Ends only when the daemon said that the stream is complete; everything else rejects. */
  readonly rest: AsyncIterable<T>;
  /** Drop the stream: `rest` rejects with `reason`. */
  cancel(reason: unknown): void;
}

/** Names a method, once the services are loaded. */
export type SelectMethod<M> = (services: typeof SERVICES) => M;

/** Connect calls to one daemon. Errors are typed here, once, for every layer above. */
export interface RpcClient {
  readonly sandboxId: string;
  unary<I extends DescMessage, O extends DescMessage>(
    method: SelectMethod<DescMethodUnary<I, O>>,
    input: MessageInitShape<I>,
    options: RpcCallOptions,
  ): Promise<MessageShape<O>>;
  stream<I extends DescMessage, O extends DescMessage>(
    method: SelectMethod<DescMethodServerStreaming<I, O>>,
    input: MessageInitShape<I>,
    options: RpcStreamOptions,
  ): Promise<RpcStream<MessageShape<O>>>;
}

/** Open a client for the Connect protocol (connectrpc.com/docs/protocol) over any {@link HttpClient}. Its code is loaded with the first call. */
export function createRpcClient(options: RpcOptions): RpcClient {
  const calls = latePart("talks to sandboxes", async () => (await import("./rpc-calls.js")).createRpcCalls(options));
  return {
    sandboxId: options.sandboxId,
    unary: async (method, input, call) => (await calls(call.signal)).unary(method, input, call),
    stream: async (method, input, call) => (await calls(call.signal)).stream(method, input, call),
  };
}

/** Begin to load that code, so that the first call need not wait. A failure shows at that call. */
export function preloadRpc(): void {
  import("./rpc-calls.js").catch(() => undefined);
}
