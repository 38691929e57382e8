import { context, propagation, trace } from "@opentelemetry/api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { Sandbox } from "../../src/index.js";
import { describeOnPlatform } from "../support/platform.js";
import { type StartedPlatform, startTestPlatform } from "../support/test-platform.js";
import { attributesOf, type Collector, openCollector } from "./support/collector.js";
import { recordTelemetry, useAsyncContext } from "./support/recorded-telemetry.js";

const PRINT = 'printf "%s|%s|%s" "$TRACEPARENT" "$TRACESTATE" "$BAGGAGE"';

describeOnPlatform("the environment of processes, on a platform that exports nothing", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };

  it("names the span of the request that started them", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await Sandbox.create({ ...connection, telemetry: recorded.telemetry });
    const { stdout } = await sandbox.commands.run(PRINT);
    const operation = recorded.span("commands.run");
    const request = recorded.span("agentsandbox.process.v1.ProcessService/Start");
    expect(stdout).toBe(`00-${request.spanContext().traceId}-${request.spanContext().spanId}-01||`);
    expect(request.parentSpanContext?.spanId).toBe(operation.spanContext().spanId);
    expect(operation.attributes).toMatchObject({ "agent_sandbox.sandbox.id": sandbox.sandboxId, "process.exit.code": 0 });
  });

  it("holds the state and the baggage of the caller's context too", async () => {
    using _ = useAsyncContext();
    const recorded = recordTelemetry();
    await using sandbox = await Sandbox.create({ ...connection, telemetry: recorded.telemetry });
    const remote = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
    const state = trace.setSpanContext(context.active(), {
      ...remote,
      traceState: { get: () => "1", set: () => state as never, unset: () => state as never, serialize: () => "vendor=1" },
    });
    const active = propagation.setBaggage(state, propagation.createBaggage({ user: { value: "Ada, König" } }));
    const { stdout } = await context.with(active, () => sandbox.commands.run(PRINT));
    expect(stdout).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01\|vendor=1\|user=Ada%2C%20K%C3%B6nig$/);
  });

  it("has nothing of it without telemetry, without propagation, and of malformed headers", async () => {
    await using sandbox = await Sandbox.create(connection);
    expect((await sandbox.commands.run(PRINT)).stdout).toBe("||");
    const { telemetry } = recordTelemetry({ propagatesContext: false });
    const watched = await Sandbox.connect(sandbox.sandboxId, { ...connection, telemetry });
    expect((await watched.commands.run(PRINT)).stdout).toBe("||");
    const forged = await Sandbox.connect(sandbox.sandboxId, {
      ...connection,
      fetch: (input, init) => {
        const headers = { ...(init?.headers as Record<string, string>), traceparent: "00-1-2-3", tracestate: "a=1", baggage: 'a="x y"' };
        return fetch(input, { ...init, headers });
      },
    });
    expect((await forged.commands.run(PRINT)).stdout).toBe("||");
  });

  it("gives way to the variables of the call and wins over those of the sandbox", async () => {
    const { telemetry } = recordTelemetry();
    await using sandbox = await Sandbox.create({ ...connection, telemetry, envs: { TRACEPARENT: "of the sandbox" } });
    expect((await sandbox.commands.run("echo $TRACEPARENT")).stdout).toMatch(/^00-/);
    expect((await sandbox.commands.run("echo $TRACEPARENT", { envs: { TRACEPARENT: "mine" } })).stdout).toBe("mine\n");
    expect((await sandbox.commands.list()).flatMap(({ envs }) => Object.keys(envs))).not.toContain("TRACEPARENT");
  });

  it("is in terminals as well, also in one that a page opens with a ticket", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await Sandbox.create({ ...connection, telemetry: recorded.telemetry });
    const shown = await printInTerminal(sandbox);
    const { traceId, spanId } = recorded.span("pty.create").spanContext();
    expect(shown).toContain(`00-${traceId}-${spanId}-01||`);

    // Names below localhost are this machine, but not for the resolver of every system.
    const url = new URL(await sandbox.pty.webSocketUrl({ cols: 200, rows: 24 }));
    const { host } = url;
    url.hostname = "127.0.0.1";
    const page = new WebSocket(url, { headers: { host } });
    const typed = new Promise<string>((resolve, reject) => {
      let text = "";
      page.on("error", reject);
      page.on("message", (data: Buffer, isBinary) => {
        if (isBinary) text += data.toString();
        else if (data.includes('"type":"ready"')) page.send(Buffer.from(`${PRINT}; exit\n`));
        else if (data.includes('"type":"exit"')) resolve(text);
      });
    });
    const parent = recorded.span("pty.webSocketUrl").spanContext();
    expect(await typed).toMatch(new RegExp(`00-${parent.traceId}-[0-9a-f]{16}-01\\|\\|`));
  });
});

describe("a trace through a platform that exports its spans", () => {
  let collector: Collector;
  let platform: StartedPlatform;
  beforeAll(async () => {
    collector = await openCollector();
    platform = await startTestPlatform({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20collector-secret",
      AGENT_SANDBOX_POOL_SIZE: "0",
    });
  });
  afterAll(async () => {
    await platform.stop();
    await collector[Symbol.asyncDispose]();
  });

  it("goes from the span of the program over client and edge to the process", async (test) => {
    if (!platform.context.isAvailable) return test.skip(platform.context.reason);
    using _ = useAsyncContext();
    const { apiUrl, sandboxUrl, apiKey } = platform.context;
    const recorded = recordTelemetry();
    const root = recorded.tracerProvider.getTracer("test").startSpan("agent");
    const { traceId } = root.spanContext();
    const [sandboxId, stdout] = await context.with(trace.setSpan(context.active(), root), async () => {
      await using sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey, telemetry: recorded.telemetry });
      return [sandbox.sandboxId, (await sandbox.commands.run(PRINT)).stdout] as const;
    });
    root.end();

    const request = recorded.span("agentsandbox.process.v1.ProcessService/Start");
    const edge = await collector.until(({ parentSpanId }) => parentSpanId === request.spanContext().spanId);
    expect(stdout).toBe(`00-${traceId}-${edge.spanId}-01||`);
    expect(edge).toMatchObject({ traceId, kind: 2, name: "POST /agentsandbox.process.v1.ProcessService/Start", status: {} });
    expect(attributesOf(edge)).toMatchObject({
      "agent_sandbox.sandbox.id": sandboxId,
      "agent_sandbox.port": 49_983,
      "http.response.status_code": 200,
    });
    expect(BigInt(edge.endTimeUnixNano)).toBeGreaterThan(BigInt(edge.startTimeUnixNano));
    expect(recorded.span("commands.run").parentSpanContext?.spanId).toBe(root.spanContext().spanId);

    const creation = await collector.until(({ name }) => name === "POST /v2/sandboxes");
    expect(creation.traceId).toBe(traceId);
    expect(attributesOf(creation)).toMatchObject({ "agent_sandbox.operation": "createSandboxV2", "agent_sandbox.sandbox.id": sandboxId });
    expect(recorded.spans().every((span) => span.spanContext().traceId === traceId)).toBe(true);
    expect(collector.paths.every((path) => path === "POST /v1/traces")).toBe(true);
    expect(collector.headers[0]).toMatchObject({ authorization: "Bearer collector-secret", "content-type": "application/json" });
  });

  it("goes on in programs behind ports and in terminals with the span of the edge, and malformed parts end there", async (test) => {
    if (!platform.context.isAvailable) return test.skip(platform.context.reason);
    const { apiUrl, sandboxUrl, apiKey } = platform.context;
    await using sandbox = await Sandbox.create({ apiUrl, sandboxUrl, apiKey });
    const server = `require("http").createServer((q, s) => s.end(JSON.stringify(q.headers))).listen(8080, () => console.log("up"))`;
    await new Promise<void>((up) => {
      void sandbox.commands.start(`/opt/agent-sandbox/node -e '${server}'`, { timeoutMs: 0, onStdout: () => up() });
    });
    const response = await fetch(new URL("/", sandboxUrl), {
      headers: {
        "e2b-sandbox-id": sandbox.sandboxId,
        "e2b-sandbox-port": "8080",
        traceparent: "00-44444444444444444444444444444444-5555555555555555-01",
        tracestate: "not valid",
        baggage: "a = 1 ;p",
      },
    });
    const seen = (await response.json()) as Record<string, string>;
    const edge = await collector.until(({ parentSpanId }) => parentSpanId === "5".repeat(16));
    expect(seen).toMatchObject({ traceparent: `00-${"4".repeat(32)}-${edge.spanId}-01`, baggage: "a=1;p" });
    expect(seen).not.toHaveProperty("tracestate");
    expect(edge.name).toBe("GET");
    expect(attributesOf(edge)).toMatchObject({ "agent_sandbox.port": 8_080, "agent_sandbox.sandbox.id": sandbox.sandboxId });

    const shown = await printInTerminal(sandbox);
    const upgrade = await collector.until(({ name }) => name === "GET /agentsandbox/pty");
    expect(shown).toContain(`00-${upgrade.traceId}-${upgrade.spanId}-01||`);
  });

  it("that is not sampled stays so, and a request without one begins its own", async (test) => {
    if (!platform.context.isAvailable) return test.skip(platform.context.reason);
    const { apiUrl } = platform.context;
    const ask = (headers: Record<string, string>) => fetch(new URL("/health", apiUrl), { headers });
    await ask({ traceparent: "00-11111111111111111111111111111111-2222222222222222-00" });
    await ask({ traceparent: "00-33333333333333333333333333333333-2222222222222222-01" });
    await ask({ traceparent: "nonsense" });
    await collector.until(({ traceId }) => traceId === "3".repeat(32));
    const own = await collector.until((span) => span.parentSpanId === undefined && span.name === "GET /health");
    expect(own.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(collector.spans().some(({ traceId }) => traceId === "1".repeat(32))).toBe(false);
  });
});

/** What a terminal shows in which the variables are printed. */
async function printInTerminal(sandbox: Sandbox): Promise<string> {
  let shown = "";
  const terminal = await sandbox.pty.create({
    cols: 200,
    rows: 24,
    onData: (data) => {
      shown += new TextDecoder().decode(data);
    },
  });
  await terminal.sendInput(`${PRINT}; exit\n`);
  await terminal.wait();
  return shown;
}
