import { type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { VERSION } from "../shared/version.js";
import type { FollowedStream, Telemetry } from "../transport/telemetry.js";
import { createInstruments } from "./instruments.js";
import { OperationSpan } from "./operation-span.js";

/** What is watched, and where it goes. */
export interface TelemetryOptions {
  /** @defaultValue the one that is registered with `@opentelemetry/api` when the first call begins */
  readonly tracerProvider?: TracerProvider | undefined;
  /** @defaultValue the one that is registered with `@opentelemetry/api` when `createTelemetry` is called */
  readonly meterProvider?: MeterProvider | undefined;
  /** Have the program and the arguments of each started process as `process.command_args`. They may hold secrets. @defaultValue false */
  readonly recordsCommands?: boolean | undefined;
  /** Send `traceparent`, `tracestate` and `baggage` with each request. @defaultValue true */
  readonly propagatesContext?: boolean | undefined;
}

const NAME = "@agent-sandbox/sdk";

/**
 * Spans and metrics of what a client does, for the option `telemetry`.
 *
 * A call has one span, each of its HTTP requests a span below it. Neither ever holds content, variables, tokens or the text of errors.
 */
export function createTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { recordsCommands = false, propagatesContext = true } = options;
  const parts = {
    tracer: options.tracerProvider?.getTracer(NAME, VERSION) ?? trace.getTracer(NAME, VERSION),
    instruments: createInstruments((options.meterProvider ?? metrics.getMeterProvider()).getMeter(NAME, VERSION)),
    recordsCommands,
    propagatesContext,
  };
  return {
    begin: (facts) => new OperationSpan(parts, facts),
    follow: async (facts, open) => {
      const span = new OperationSpan(parts, facts);
      try {
        const stream = await open(span);
        return watch(stream, span);
      } catch (error) {
        span.fail(error);
        span.end();
        throw error;
      }
    },
  };
}

/** The stream, whose end is that of the span. Leaving it is no failure. */
function watch<S extends FollowedStream>(stream: S, span: OperationSpan): S {
  let isLeft = false;
  const read = async function* () {
    try {
      for await (const event of stream.events) {
        if (event.type === "end") span.note(event);
        yield event;
      }
    } catch (error) {
      if (!isLeft) span.fail(error);
      throw error;
    } finally {
      span.end();
    }
  };
  const cancel = (reason: unknown) => {
    isLeft = true;
    stream.cancel(reason);
  };
  span.streamed();
  return { ...stream, events: read(), cancel };
}
