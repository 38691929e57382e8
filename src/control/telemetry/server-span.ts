/** The span of one request, as it is exported. */
export interface ServerSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly isError: boolean;
}

const KIND_SERVER = 2;
const STATUS_ERROR = 2;

/** The body of an export in the JSON of OTLP (opentelemetry-proto, `ExportTraceServiceRequest`). */
export function toOtlpBody(spans: readonly ServerSpan[], resource: ServerSpan["attributes"], version: string): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: toAttributes(resource) },
        scopeSpans: [{ scope: { name: "@agent-sandbox/sdk/serve", version }, spans: spans.map(toOtlpSpan) }],
      },
    ],
  });
}

function toOtlpSpan(span: ServerSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    traceState: span.traceState,
    name: span.name,
    kind: KIND_SERVER,
    startTimeUnixNano: toNanoseconds(span.startedAtMs),
    endTimeUnixNano: toNanoseconds(span.endedAtMs),
    attributes: toAttributes(span.attributes),
    status: span.isError ? { code: STATUS_ERROR } : {},
  };
}

/** 64-bit numbers are text in the JSON of protobuf. */
function toNanoseconds(ms: number): string {
  return String(BigInt(Math.round(ms * 1_000)) * 1_000n);
}

function toAttributes(attributes: ServerSpan["attributes"]) {
  return Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : { key, value: toValue(value) }));
}

function toValue(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
