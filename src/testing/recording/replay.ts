import type { ConnectionOptions } from "../../index.js";
import { NewsBoard } from "./news-board.js";
import { type RecordedExchange, type RecordedRequest, readRecording } from "./recording-file.js";
import type { RecordingOptions, WireSession } from "./recording-options.js";
import { describeMismatch, findMatch, type WaitingExchange } from "./request-match.js";
import { toRecordedRequest } from "./request-text.js";
import { observeRequest } from "./sent-request.js";

/** How a recording is replayed. */
export type ReplayOptions = RecordingOptions;

/** A wire that answers from a file. */
export interface Replay extends WireSession {
  /** Requests of the recording that were not made so far, such as `POST /sandboxes`. */
  readonly unused: readonly string[];
}

/** Nothing is ever sent there; `.invalid` is a name that never resolves (RFC 2606). */
const NOWHERE = "http://recording.invalid";

/**
 * Answer from a file that {@link recordTo} wrote: no platform, no network, no waiting. A stream brings what it brought, and each piece of it
 * after the requests that had been made before it.
 *
 * Requests may come in another order than they were recorded in. One that is not in the recording, or has another body, rejects the call
 * with a {@link FailedPreconditionError} whose message has the difference, and `close()` throws it again, so that a program which passes over
 * the error does not pass the test.
 *
 * @throws {@link FileNotFoundError} there is no such file; {@link FailedPreconditionError} it is no recording, and, of `close()`, a request
 * was not in it.
 */
export async function replayFrom(file: string, { redact = (text) => text }: ReplayOptions = {}): Promise<Replay> {
  const { exchanges } = await readRecording(file);
  const waiting: WaitingExchange[] = exchanges.map((exchange) => ({ exchange, isUsed: false }));
  const begun = new NewsBoard();
  let mismatch: Error | undefined;

  const fetch: typeof globalThis.fetch = async (input, init) => {
    init?.signal?.throwIfAborted();
    begun.add();
    const request = toRecordedRequest(await readRequest(input, init), redact);
    const match = findMatch(waiting, request);
    if (match === undefined) {
      const error = describeMismatch(file, waiting, request);
      mismatch ??= error;
      throw error;
    }
    match.isUsed = true;
    const { failure, response } = match.exchange;
    if (failure !== undefined) throw new TypeError(failure);
    if (response === undefined) return untilGivenUp(init?.signal ?? undefined);
    const body = isBodyless(response.status) ? null : toBody(response, begun, init?.signal ?? undefined);
    return new Response(body, { status: response.status, headers: response.headers });
  };
  const connection: ConnectionOptions = {
    platform: "cloud",
    apiUrl: NOWHERE,
    sandboxUrl: NOWHERE,
    apiKey: "e2b_00",
    encoding: "json",
    retries: 0,
    fetch,
  };
  const close = async (): Promise<void> => {
    if (mismatch !== undefined) throw mismatch;
  };
  return {
    connection: Object.freeze(connection),
    get unused() {
      return waiting.filter(({ isUsed }) => !isUsed).map(({ exchange }) => toTitle(exchange.request));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function readRequest(input: RequestInfo | URL, init: RequestInit | undefined) {
  const observed = observeRequest(input, init);
  // Nothing else reads the body here.
  if (observed.init.body instanceof ReadableStream) for await (const _ of observed.init.body);
  return observed.sent();
}

function toBody(
  { chunks, ending }: NonNullable<RecordedExchange["response"]>,
  begun: NewsBoard,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const chunk = chunks[next];
        try {
          if (chunk !== undefined) {
            next += 1;
            await begun.until(chunk.afterRequests, signal);
            controller.enqueue(Buffer.from(chunk.text ?? chunk.base64 ?? "", chunk.text === undefined ? "base64" : "utf8"));
          } else if (ending === "complete") controller.close();
          else if (ending === "failed") controller.error(new TypeError("the connection broke here when it was recorded"));
          else await untilGivenUp(signal);
        } catch (error) {
          controller.error(error);
        }
      },
    },
    { highWaterMark: 0 },
  );
}

/** Nothing came any more when it was recorded; whoever waits gives up as before. */
function untilGivenUp(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal?.aborted) reject(signal.reason);
  });
}

function isBodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function toTitle({ method, target }: RecordedRequest): string {
  return `${method} ${target}`;
}
