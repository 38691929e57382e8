import type { ConnectionOptions } from "../../index.js";
import { messageOf } from "../../shared/message-of.js";
import { type RecordedChunk, type RecordedEnding, type RecordedExchange, writeRecording } from "./recording-file.js";
import type { RecordingOptions, WireSession } from "./recording-options.js";
import { toRecordedRequest } from "./request-text.js";
import { observeRequest } from "./sent-request.js";

/** How the wire is recorded. */
export interface RecordOptions extends RecordingOptions {
  /** Where the real platform is. @defaultValue what a call without options uses */
  readonly connection?: ConnectionOptions | undefined;
}

/** They describe the one connection, or are made anew by whoever builds an answer. */
const LEFT_OUT_HEADERS = ["connection", "content-encoding", "content-length", "date", "keep-alive", "set-cookie", "transfer-encoding"];
const TOKEN = /"((?:\w+)?[tT]oken|apiKeyValue)"(\s*:\s*)"(?!recorded)[^"]+"/g;

/** An exchange while it goes on. */
interface OpenExchange {
  readonly request: () => RecordedExchange["request"];
  failure?: string;
  response?: { status: number; headers: Record<string, string>; chunks: RecordedChunk[]; ending: RecordedEnding };
}

/**
 * Record what goes over the wire, for {@link replayFrom}. The file is written by `close()`, which `await using` does.
 *
 * No header of a request is kept, so no key is; tokens in answers are replaced. Bodies are kept as they are: what a program sends, values of
 * environment variables among it, stands in the file unless `redact` takes it out. Bodies are held in memory until then.
 */
export async function recordTo(file: string, options: RecordOptions = {}): Promise<WireSession> {
  const { connection = {}, redact = (text) => text } = options;
  const realFetch = connection.fetch ?? globalThis.fetch;
  const exchanges: OpenExchange[] = [];

  const fetch: typeof globalThis.fetch = async (input, init) => {
    const observed = observeRequest(input, init);
    const exchange: OpenExchange = { request: () => toRecordedRequest(observed.sent(), redact) };
    exchanges.push(exchange);
    const isGivenUp = (): boolean => init?.signal?.aborted === true;
    const answer = await realFetch(input, observed.init).catch((error: unknown) => {
      if (!isGivenUp()) exchange.failure = messageOf(error);
      throw error;
    });
    const recorded = {
      status: answer.status,
      headers: toHeaders(answer.headers),
      chunks: [] as RecordedChunk[],
      ending: "cut" as RecordedEnding,
    };
    exchange.response = recorded;
    const body = observeBody(
      answer.body,
      (chunk) => recorded.chunks.push({ afterRequests: exchanges.length, ...toChunk(chunk) }),
      (ending) => {
        recorded.ending = ending === "failed" && isGivenUp() ? "cut" : ending;
      },
    );
    return new Response(body, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
  };

  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= writeRecording(file, {
      version: 1,
      exchanges: exchanges.map(({ request: sent, failure, response }) => {
        const request = sent();
        const clean = (text: string): string => redact(hasTokens(request) ? text.replace(TOKEN, '"$1"$2"recorded"') : text);
        return {
          request,
          ...(failure !== undefined && { failure }),
          ...(response !== undefined && { response: { ...response, chunks: cleanChunks(response, clean) } }),
        };
      }),
    });
    return closed;
  };
  // JSON, so that people read the recording and the differences.
  return { connection: Object.freeze({ ...connection, fetch, encoding: "json" as const }), close, [Symbol.asyncDispose]: close };
}

function toHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !LEFT_OUT_HEADERS.includes(name)));
}

/** The same body, watched. */
function observeBody(
  body: ReadableStream<Uint8Array> | null,
  onChunk: (chunk: Uint8Array) => void,
  onEnd: (ending: RecordedEnding) => void,
): ReadableStream<Uint8Array> | null {
  if (body === null) {
    onEnd("complete");
    return null;
  }
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read();
          if (done) {
            onEnd("complete");
            controller.close();
          } else {
            onChunk(value);
            controller.enqueue(value);
          }
        } catch (error) {
          onEnd("failed");
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function toChunk(bytes: Uint8Array): Pick<RecordedChunk, "text" | "base64"> {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes).toString("base64") };
  }
}

/** Tokens are in answers of the control plane; what a sandbox or a volume holds is given back as it is. */
function hasTokens({ sandboxId, target }: RecordedExchange["request"]): boolean {
  return sandboxId === undefined && !target.startsWith("/volumecontent/");
}

/** A chunk of a Connect stream has the length of its messages before them, so there nothing is replaced. */
function cleanChunks(response: NonNullable<OpenExchange["response"]>, clean: (text: string) => string): RecordedChunk[] {
  return wholeChunks(response).map((chunk) => {
    return chunk.text === undefined || chunk.text.includes("\0") ? chunk : { ...chunk, text: clean(chunk.text) };
  });
}

/** A JSON answer says nothing before its end, so it is one chunk: what has to be replaced may lie across two. */
function wholeChunks({ headers, chunks }: NonNullable<OpenExchange["response"]>): readonly RecordedChunk[] {
  const last = chunks.at(-1);
  if (last === undefined || !headers["content-type"]?.startsWith("application/json")) return chunks;
  const bytes = chunks.map(({ text, base64 = "" }) => (text === undefined ? Buffer.from(base64, "base64") : Buffer.from(text)));
  return [{ afterRequests: last.afterRequests, ...toChunk(Buffer.concat(bytes)) }];
}
