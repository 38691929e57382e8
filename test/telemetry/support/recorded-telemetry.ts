import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, type ContextManager, context, ROOT_CONTEXT } from "@opentelemetry/api";
import {
  AggregationTemporality,
  type DataPoint,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createTelemetry, type TelemetryOptions } from "../../../src/telemetry/index.js";
import type { Telemetry } from "../../../src/transport/telemetry.js";

/** Telemetry of the real SDK, whose spans and metrics stay here. */
export interface RecordedTelemetry {
  readonly telemetry: Telemetry;
  readonly tracerProvider: BasicTracerProvider;
  /** Spans that ended, in the order of their ends. */
  spans(): readonly ReadableSpan[];
  /** The one span of this name. */
  span(name: string): ReadableSpan;
  /** The series of a metric. */
  points(name: string): Promise<readonly Point[]>;
}

/** One series of a metric. */
export interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** That of a counter, or the sum of a histogram. */
  readonly value: number;
  /** Of a histogram. */
  readonly count: number;
}

export function recordTelemetry(options: TelemetryOptions = {}): RecordedTelemetry {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  // Exported when it is asked to, and not by its timer.
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 2_000_000_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  return {
    telemetry: createTelemetry({ tracerProvider, meterProvider, ...options }),
    tracerProvider,
    spans: () => exporter.getFinishedSpans(),
    span(name) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      if (found.length !== 1)
        throw new Error(`${found.length} spans are called ${name}: ${exporter.getFinishedSpans().map((span) => span.name)}`);
      return found[0] as ReadableSpan; // counted above
    },
    async points(name) {
      await reader.forceFlush();
      const last = metricExporter.getMetrics().at(-1);
      const metrics = last?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return metrics.flatMap(({ descriptor, dataPoints }) => (descriptor.name === name ? dataPoints.map(toPoint) : []));
    },
  };
}

function toPoint({ attributes, value }: DataPoint<unknown>): Point {
  if (typeof value === "number") return { attributes, value, count: 0 };
  const { sum = 0, count } = value as Histogram; // no other kind is used
  return { attributes, value: sum, count };
}

/** The context manager that programs on Node have, registered until the disposal. */
export function useAsyncContext(): Disposable {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, run, self, ...args) => storage.run(active, () => run.call(self as ThisParameterType<typeof run>, ...args)),
    bind: (_active, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
  return { [Symbol.dispose]: () => context.disable() };
}
