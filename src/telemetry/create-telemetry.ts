import { type MeterProvider, metrics, type TracerProvider, trace } from "@opentelemetry/api";
import { VERSION } from "../shared/version.js";
import type { CallFacts, Telemetry } from "../transport/telemetry.js";
import { createInstruments } from "./instruments.js";
import { OperationSpan } from "./operation-span.js";
import { watchStreams } from "./watched-streams.js";

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
  const begin = (facts: CallFacts) => new OperationSpan(parts, facts);
  return { begin, watchStreams: (client, facts) => watchStreams(client, facts, begin) };
}
