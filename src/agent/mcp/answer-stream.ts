import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthInfo } from "@modelcontextprotocol/sdk/server/auth/types.js";

/**
 * The HTTP answer of the calls that came in one request. The library ends it once each has its answer, which a cancelled call never gets, so
 * without this the stream, and with it the session, would last until the client goes away.
 */
export class AnswerStream {
  readonly #response: ServerResponse;
  #running = 0;
  #isIncomplete = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** A call is under way. */
  begin(): void {
    this.#running += 1;
  }

  /** A call is over. */
  finish(isAnswered: boolean): void {
    this.#running -= 1;
    this.#isIncomplete ||= !isAnswered;
    // The answer of another call of the same request is written in this turn.
    if (this.#isIncomplete && this.#running === 0) setImmediate(() => this.#response.end());
  }
}

/** Let the library hand the stream of a request on to those who handle its calls: what it knows of the caller is the one thing that it passes through. */
export function withAnswerStream(request: IncomingMessage, response: ServerResponse): IncomingMessage & { auth: AuthInfo } {
  return Object.assign(request, { auth: { token: "", clientId: "", scopes: [], extra: { stream: new AnswerStream(response) } } });
}

/** The stream on which a call is answered, where it has one of its own. */
export function answerStreamOf({ authInfo }: { readonly authInfo?: AuthInfo | undefined }): AnswerStream | undefined {
  const stream = authInfo?.extra?.stream;
  return stream instanceof AnswerStream ? stream : undefined;
}
