/** Where spans are sent, by the variables of OpenTelemetry (https://opentelemetry.io/docs/specs/otel/protocol/exporter/). */
export interface OtlpSettings {
  /** `http:` or `https:`. */
  readonly tracesUrl: URL;
  /** Beside the content type; they may hold credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly serviceName: string;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t -~]*$/;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The settings of an environment; `undefined` where nothing shall be exported.
 *
 * @param onProblem told in one sentence, without values, why an endpoint that is named is not used
 */
export function readOtlpSettings(env: Environment, onProblem: (problem: string) => void): OtlpSettings | undefined {
  const own = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT;
  const shared = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if ((!own && !shared) || env.OTEL_SDK_DISABLED?.toLowerCase() === "true" || env.OTEL_TRACES_EXPORTER === "none") return undefined;
  const protocol = env.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? env.OTEL_EXPORTER_OTLP_PROTOCOL;
  if (protocol === "grpc") {
    onProblem("spans are sent over HTTP only; set OTEL_EXPORTER_OTLP_PROTOCOL to http/json and the endpoint to an HTTP port, mostly 4318");
    return undefined;
  }
  const text = own || `${shared?.replace(/\/+$/, "")}/v1/traces`;
  const tracesUrl = URL.canParse(text) ? new URL(text) : undefined;
  if (tracesUrl === undefined || !/^https?:$/.test(tracesUrl.protocol)) {
    onProblem("the OTLP endpoint is no http or https URL, so no spans are sent");
    return undefined;
  }
  const timeoutMs = Number(env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT ?? env.OTEL_EXPORTER_OTLP_TIMEOUT);
  return {
    tracesUrl,
    headers: readHeaders(env.OTEL_EXPORTER_OTLP_TRACES_HEADERS ?? env.OTEL_EXPORTER_OTLP_HEADERS ?? ""),
    timeoutMs: Number.isFinite(timeoutMs) && timeoutMs > 0 ? Math.min(timeoutMs, 60_000) : DEFAULT_TIMEOUT_MS,
    serviceName: env.OTEL_SERVICE_NAME || "agent-sandbox",
  };
}

/** `name=value,name=value`, percent-encoded; what could not be sent is left out. */
function readHeaders(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(at, 0)).trim();
    const value = decode(pair.slice(at + 1).trim());
    if (HEADER_NAME.test(name) && value !== undefined && HEADER_VALUE.test(value)) headers[name] = value;
  }
  return headers;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
