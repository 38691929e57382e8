import { type Context, propagation, trace } from "@opentelemetry/api";
import { readTraceContext } from "../shared/trace-context.js";

/**
 * The W3C headers of a context. They are written here and not by the propagator that is registered, since servers understand no others; what is
 * malformed or too long is left out.
 */
export function toContextHeaders(context: Context): Readonly<Record<string, string>> {
  const span = trace.getSpanContext(context);
  const entries = propagation.getBaggage(context)?.getAllEntries() ?? [];
  const sent = {
    traceparent: span && `00-${span.traceId}-${span.spanId}-${(span.traceFlags & 0xff).toString(16).padStart(2, "0")}`,
    tracestate: span?.traceState?.serialize(),
    baggage: entries.map(([name, { value, metadata }]) => toMember(name, value, metadata?.toString())).join(","),
  };
  return { ...readTraceContext((name) => sent[name as keyof typeof sent]) };
}

function toMember(name: string, value: string, metadata: string | undefined): string {
  return `${name}=${encodeURIComponent(value)}${metadata ? `;${metadata}` : ""}`;
}
