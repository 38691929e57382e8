import { describe, expect, it } from "vitest";
import { createLogger } from "../../src/control/logger.js";
import { type OtlpSettings, readOtlpSettings } from "../../src/control/telemetry/otlp-settings.js";
import type { ServerSpan } from "../../src/control/telemetry/server-span.js";
import { SpanExporter } from "../../src/control/telemetry/span-exporter.js";
import { attributesOf, openCollector } from "../telemetry/support/collector.js";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/base/" };

function spanOf(index: number): ServerSpan {
  return {
    traceId: index.toString(16).padStart(32, "1"),
    spanId: index.toString(16).padStart(16, "1"),
    parentSpanId: undefined,
    traceState: undefined,
    name: "GET /health",
    startedAtMs: 1_700_000_000_000.25,
    endedAtMs: 1_700_000_000_001.5,
    attributes: { "http.route": "/health", "http.response.status_code": 200, ratio: 0.5, isLocal: true, none: undefined },
    isError: index === 1,
  };
}

function open(url: string, more: Partial<OtlpSettings> = {}) {
  const log: string[] = [];
  const settings = {
    tracesUrl: new URL("/v1/traces", url),
    headers: { authorization: "Bearer s3cret" },
    timeoutMs: 10_000,
    serviceName: "test",
    ...more,
  };
  return {
    log,
    exporter: new SpanExporter(
      settings,
      createLogger((line) => log.push(line)),
    ),
  };
}

describe("the export of spans", () => {
  it("writes the JSON of OTLP", async () => {
    await using collector = await openCollector();
    const { exporter } = open(collector.url);
    exporter.add(spanOf(0));
    exporter.add(spanOf(1));
    await exporter.close();
    const [good, bad] = collector.spans();
    expect(good).toMatchObject({
      traceId: `${"1".repeat(31)}0`,
      name: "GET /health",
      kind: 2,
      startTimeUnixNano: "1700000000000250000",
      endTimeUnixNano: "1700000000001500000",
      status: {},
    });
    expect(good && attributesOf(good)).toEqual({ "http.route": "/health", "http.response.status_code": 200, ratio: 0.5, isLocal: true });
    expect(bad?.status).toEqual({ code: 2 });
    expect(JSON.parse(collector.bodies[0] ?? "")).toMatchObject({
      resourceSpans: [{ resource: { attributes: expect.arrayContaining([{ key: "service.name", value: { stringValue: "test" } }]) } }],
    });
  });

  it("holds a bounded number for a collector that never answers, counts what it drops, and never makes anybody wait", async () => {
    await using collector = await openCollector();
    collector.answerWith(0);
    const { exporter, log } = open(collector.url, { timeoutMs: 50 });
    for (let index = 0; index < 10_000; index += 1) exporter.add(spanOf(index));
    expect(exporter.droppedCount).toBe(10_000 - 512 - 2_048);
    await exporter.close();
    expect(exporter.droppedCount).toBe(10_000);
    exporter.add(spanOf(0));
    expect(exporter.droppedCount).toBe(10_001);
    expect(log).toHaveLength(1);
    expect(JSON.parse(log[0] ?? "")).toMatchObject({
      level: "warn",
      event: "telemetry.export_failed",
      message: "the collector did not answer in time",
    });
  });

  it("goes on after a collector that refused, and says no credential", async () => {
    await using collector = await openCollector();
    collector.answerWith(401);
    const { exporter, log } = open(collector.url.replace("//", "//user:s3cret@"));
    for (let index = 0; index < 512; index += 1) exporter.add(spanOf(index));
    await expect.poll(() => exporter.droppedCount).toBe(512);
    collector.answerWith(200);
    exporter.add(spanOf(600));
    await exporter.close();
    expect(exporter.droppedCount).toBe(512);
    expect(collector.spans().at(-1)?.spanId).toBe(spanOf(600).spanId);
    expect(log.join("")).toContain("status 401");
    expect(log.join("")).not.toContain("s3cret");
  });

  it("ends with the platform, also while a collector does not answer", async () => {
    await using collector = await openCollector();
    collector.answerWith(0);
    const { exporter } = open(collector.url, { timeoutMs: 3_600_000 });
    for (let index = 0; index < 600; index += 1) exporter.add(spanOf(index));
    await exporter.close();
    expect(exporter.droppedCount).toBe(600);
  });

  it("survives a collector that is not there", async () => {
    const collector = await openCollector();
    await collector[Symbol.asyncDispose]();
    const { exporter, log } = open(collector.url);
    exporter.add(spanOf(0));
    await exporter.close();
    expect(exporter.droppedCount).toBe(1);
    expect(log.join("")).toContain("ECONNREFUSED");
  });
});

describe("the variables of OpenTelemetry", () => {
  const read = (env: Record<string, string>) => {
    const problems: string[] = [];
    return { settings: readOtlpSettings(env, (problem) => problems.push(problem)), problems };
  };

  it("name the endpoint, its headers, a time and the service", () => {
    const env = {
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc, bad name=1,x=a%0d%0ab,y=%zz,z",
      OTEL_SERVICE_NAME: "boxes",
    };
    expect(read({ ...env, OTEL_EXPORTER_OTLP_TIMEOUT: "2500" }).settings).toEqual({
      tracesUrl: new URL("http://127.0.0.1:4318/base/v1/traces"),
      headers: { authorization: "Basic abc" },
      timeoutMs: 2_500,
      serviceName: "boxes",
    });
    const own = { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/traces" };
    expect(read(own).settings?.tracesUrl.href).toBe("https://collector/traces");
    expect(read(own).settings).toMatchObject({ timeoutMs: 10_000, serviceName: "agent-sandbox", headers: {} });
  });

  it.each<Record<string, string>>([
    {},
    { OTEL_SERVICE_NAME: "x" },
    { ...ENDPOINT, OTEL_SDK_DISABLED: "true" },
    { ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" },
  ])("ask for nothing in %j", (env) => {
    expect(read(env)).toEqual({ settings: undefined, problems: [] });
  });

  it.each([
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "s3cret" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://user:s3cret@host" },
  ])("that cannot be followed are told without their values: %j", (env) => {
    const { settings, problems } = read(env);
    expect(settings).toBeUndefined();
    expect(problems).toHaveLength(1);
    expect(problems[0]).not.toContain("s3cret");
  });
});
