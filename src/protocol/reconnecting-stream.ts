import { SandboxError } from "../errors/sandbox-error.js";
import { Backoff, pause } from "./backoff.js";
import type { ProcessStreamOptions } from "./process-client.js";
import type { ProcessEvent, ProcessStream } from "./process-events.js";

export interface ReconnectingStreamOptions extends ProcessStreamOptions {
  /** Most tries in a row without an event in between. */
  readonly retries: number;
  /** Follow the live process. */
  readonly attach: (pid: number, options: ProcessStreamOptions) => Promise<ProcessStream>;
}

/**
 * Follow a process of a daemon that keeps no output: after a cut the stream goes on with what comes next, and says so by a gap of unknown
 * size. What the process wrote in between, or its end, may be lost; when it ended meanwhile, the failure of the connection stands.
 */
export function toReconnectingStream(first: ProcessStream, options: ReconnectingStreamOptions): ProcessStream {
  if (!options.acceptsGaps || options.retries === 0) return first;
  const life = new AbortController();
  let current = first;
  return {
    pid: first.pid,
    events: readEvents(first, options, life.signal, (stream) => {
      current = stream;
    }),
    cancel: (reason) => {
      life.abort(reason);
      current.cancel(reason);
    },
  };
}

async function* readEvents(
  first: ProcessStream,
  options: ReconnectingStreamOptions,
  life: AbortSignal,
  onStream: (stream: ProcessStream) => void,
): AsyncGenerator<ProcessEvent, void, undefined> {
  const endsAt = options.timeoutMs === 0 ? Number.POSITIVE_INFINITY : performance.now() + options.timeoutMs;
  const backoff = new Backoff();
  let tries = 0;
  let stream = first;
  for (;;) {
    let hasEnded = false;
    try {
      for await (const event of stream.events) {
        hasEnded ||= event.type === "end";
        tries = 0;
        backoff.reset();
        yield event;
      }
      return;
    } catch (failure) {
      if (hasEnded) return;
      if (!isLostConnection(failure)) throw failure;
      stream = await reconnect(failure);
      onStream(stream);
      yield { type: "gap", missingBytes: undefined };
    }
  }

  async function reconnect(failure: unknown): Promise<ProcessStream> {
    for (;;) {
      const pauseMs = backoff.next();
      tries += 1;
      if (tries > options.retries || performance.now() + pauseMs >= endsAt) throw failure;
      await pause(pauseMs, options.signal === undefined ? life : AbortSignal.any([life, options.signal]));
      try {
        const timeoutMs = options.timeoutMs === 0 ? 0 : Math.max(1, Math.ceil(endsAt - performance.now()));
        const stream = await options.attach(first.pid, { ...options, timeoutMs });
        if (life.aborted) stream.cancel(life.reason);
        return stream;
      } catch (error) {
        if (isLostConnection(error)) continue;
        // There is no such process or no such call any more: what is known is that the connection was lost.
        throw SandboxError.isInstance(error) && error.reason !== "sandbox_gone" ? failure : error;
      }
    }
  }
}

function isLostConnection(error: unknown): boolean {
  return SandboxError.isInstance(error) && error.reason === "connection" && error.isRetryable;
}
