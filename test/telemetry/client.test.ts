import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { createTelemetry } from "../../src/telemetry/index.js";
import { startTestDaemon } from "../daemon/support/process-daemon.js";
import { openFaultProxy } from "../faults/support/fault-proxy.js";
import { openDaemonSandbox, openParts } from "../sandbox/support/daemon-sandbox.js";
import { endFrame, frame, openWireServer, sendJson } from "../transport/support/wire-server.js";
import { recordTelemetry } from "./support/recorded-telemetry.js";

const SANDBOX = { sandboxID: "i1", templateID: "t1", clientID: "c", envdVersion: "0.6.13", envdAccessToken: "token-secret" };

describe("spans of the control plane's calls", () => {
  it("say which sandbox and template, below them each request with what was received", async () => {
    const recorded = recordTelemetry();
    await using server = await openWireServer((_req, res) => sendJson(res, 201, SANDBOX));
    await Sandbox.create("base", { apiUrl: server.url, apiKey: "key-secret", telemetry: recorded.telemetry });
    const operation = recorded.span("sandbox.create");
    expect(operation.attributes).toEqual({
      "agent_sandbox.operation": "sandbox.create",
      "agent_sandbox.sandbox.id": "i1",
      "agent_sandbox.template.id": "t1",
    });
    expect(operation.status.code).toBe(SpanStatusCode.UNSET);
    const request = recorded.span("POST");
    const { hostname, port } = new URL(server.url);
    expect(request.kind).toBe(SpanKind.CLIENT);
    expect(request.attributes).toEqual({
      "http.request.method": "POST",
      "http.response.status_code": 201,
      "server.address": hostname,
      "server.port": Number(port),
      "url.full": `${server.url}/v2/sandboxes`,
    });
    const { traceId, spanId } = request.spanContext();
    expect(server.headers[0]?.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    expect(request.parentSpanContext?.spanId).toBe(operation.spanContext().spanId);
  });

  it("count repetitions, and metrics do so too", async () => {
    const recorded = recordTelemetry();
    let count = 0;
    await using server = await openWireServer((_req, res) => {
      count += 1;
      if (count < 3) sendJson(res, 503, { code: 503, message: "busy" });
      else sendJson(res, 200, []);
    });
    await Sandbox.list({ apiUrl: server.url, apiKey: "k", telemetry: recorded.telemetry }).toArray();
    expect(recorded.span("sandbox.list").attributes["agent_sandbox.retries"]).toBe(2);
    expect(recorded.span("sandbox.list").status.code).toBe(SpanStatusCode.UNSET);
    const requests = recorded.spans().filter(({ name }) => name === "GET");
    expect(requests.map(({ attributes }) => [attributes["http.response.status_code"], attributes["http.request.resend_count"]])).toEqual([
      [503, undefined],
      [503, 1],
      [200, 2],
    ]);
    expect(requests[0]).toMatchObject({ status: { code: SpanStatusCode.ERROR }, attributes: { "error.type": "503" } });
    expect(new Set(server.headers.map(({ traceparent }) => traceparent)).size).toBe(3);
    expect(await recorded.points("agent_sandbox.client.retries")).toMatchObject([
      { value: 2, attributes: { "agent_sandbox.operation": "sandbox.list" } },
    ]);
    expect(await recorded.points("agent_sandbox.client.operation.duration")).toMatchObject([{ count: 1 }]);
  });

  it("say how a call failed, by the reason of its error and never by its text", async () => {
    const recorded = recordTelemetry();
    await using server = await openWireServer((_req, res) =>
      sendJson(res, 404, { code: 404, message: "no secret-name here" }, { "x-request-id": "r-1" }),
    );
    const options = { apiUrl: server.url, apiKey: "k", telemetry: recorded.telemetry };
    await expect(Sandbox.connect("i9", options)).rejects.toThrow("secret-name");
    await using dead = await openWireServer(() => {});
    const abort = new AbortController();
    const aborted = Sandbox.connect("i9", { ...options, apiUrl: dead.url, signal: abort.signal });
    setImmediate(() => abort.abort(new DOMException("secret-reason", "AbortError")));
    await expect(aborted).rejects.toThrow("secret-reason");
    const failed = recorded.spans().filter(({ name }) => name === "sandbox.connect");
    expect(failed[0]).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "sandbox_not_found", "http.response.status_code": 404, "agent_sandbox.request.id": "r-1" },
    });
    expect(failed.at(-1)?.attributes["error.type"]).toBe("AbortError");
    expect(dump(recorded.spans())).not.toContain("secret");
    const durations = await recorded.points("agent_sandbox.client.operation.duration");
    expect(durations.map(({ attributes }) => attributes["error.type"]).sort()).toEqual(["AbortError", "sandbox_not_found"]);
  });
});

describe("spans of a daemon's calls", () => {
  it("follow a command to its end, with its exit code, and are active meanwhile", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    const handle = await sandbox.commands.start("read line; echo $line; exit 3", { stdin: true });
    expect(await recorded.points("agent_sandbox.client.active_streams")).toMatchObject([{ value: 1 }]);
    expect(recorded.spans().map(({ name }) => name)).not.toContain("commands.start");
    await handle.sendStdin("hello\n");
    await expect(handle.wait()).rejects.toThrow();
    const operation = recorded.span("commands.start");
    expect(operation.attributes).toEqual({
      "agent_sandbox.operation": "commands.start",
      "agent_sandbox.sandbox.id": "itest",
      "agent_sandbox.template.id": "base",
      "process.exit.code": 3,
    });
    expect(operation.status.code).toBe(SpanStatusCode.UNSET);
    expect(recorded.span("agentsandbox.process.v1.ProcessService/Start").attributes).toMatchObject({
      "rpc.system": "connect_rpc",
      "rpc.service": "agentsandbox.process.v1.ProcessService",
      "rpc.method": "Start",
    });
    expect(await recorded.points("agent_sandbox.client.active_streams")).toMatchObject([{ value: 0 }]);
  });

  it("stay one span where a stream breaks and goes on over another connection", async () => {
    const recorded = recordTelemetry();
    await using daemon = await startTestDaemon();
    await using proxy = await openFaultProxy(daemon.port);
    const parts = await openParts(proxy.url, { services: ["process.v1"], telemetry: recorded.telemetry });
    const seen: string[] = [];
    const handle = await parts.commands.start("echo one; read line; echo two", {
      stdin: true,
      onStdout: (text) => {
        seen.push(text);
        if (seen.length === 1) proxy.resetAll();
      },
    });
    await expect.poll(() => recorded.spans().map(({ name }) => name)).toContain("agentsandbox.process.v1.ProcessService/Start");
    await handle.sendStdin("go\n");
    expect((await handle.wait()).stdout).toBe("one\ntwo\n");
    const operation = recorded.span("commands.start");
    expect(operation.status.code).toBe(SpanStatusCode.UNSET);
    expect(operation.attributes["agent_sandbox.retries"]).toBeGreaterThanOrEqual(1);
    const attached = recorded.spans().filter(({ name }) => name.endsWith("/Attach"));
    expect(attached.length).toBeGreaterThanOrEqual(1);
    for (const span of attached) expect(span.parentSpanContext?.spanId).toBe(operation.spanContext().spanId);
  });

  it("stay one span where the daemon is another one, too", async () => {
    const recorded = recordTelemetry();
    const start = frame({ event: { start: { pid: 7 } } });
    await using server = await openWireServer((req, res) => {
      res.writeHead(200, { "content-type": "application/connect+json" }).write(start);
      if (req.url?.endsWith("/Start")) setImmediate(() => res.destroy());
      else res.end(Buffer.concat([frame({ event: { end: { exitCode: 0, exited: true, status: "exit status 0" } } }), endFrame()]));
    });
    const parts = await openParts(server.url, { isBinary: false, telemetry: recorded.telemetry });
    expect((await parts.commands.run("x")).outputMayBeIncomplete).toBe(true);
    expect(recorded.span("commands.run").status.code).toBe(SpanStatusCode.UNSET);
    expect(recorded.span("process.Process/Connect").parentSpanContext?.spanId).toBe(recorded.span("commands.run").spanContext().spanId);
  });

  it("end without a failure when the caller leaves a stream, and with one when it breaks", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    const left = await sandbox.commands.start("sleep 60");
    await left.disconnect();
    await expect.poll(() => recorded.spans().map(({ name }) => name)).toContain("commands.start");
    expect(recorded.span("commands.start").status.code).toBe(SpanStatusCode.UNSET);
    await expect(sandbox.commands.run("sleep 60", { timeoutMs: 50 })).rejects.toThrow("timeoutMs");
    expect(recorded.span("commands.run")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "timeout" },
    });
    expect(await recorded.points("agent_sandbox.client.active_streams")).toEqual(
      ["commands.start", "commands.run"].map((name) => ({ attributes: { "agent_sandbox.operation": name }, value: 0, count: 0 })),
    );
  });

  it("end with an abort, and with the death of the daemon", async () => {
    const recorded = recordTelemetry();
    const sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    const abort = new AbortController();
    const aborted = sandbox.commands.run("echo up; sleep 60", { signal: abort.signal, onStdout: () => abort.abort() });
    await expect(aborted).rejects.toThrow("abort");
    const dying = sandbox.files.watchDir("/tmp", () => {});
    await dying;
    await sandbox[Symbol.asyncDispose]();
    await expect.poll(() => recorded.spans().map(({ name }) => name)).toContain("files.watchDir");
    expect(recorded.span("commands.run").attributes["error.type"]).toBe("AbortError");
    expect(recorded.span("files.watchDir").attributes["error.type"]).toBeDefined();
    expect((await recorded.points("agent_sandbox.client.active_streams")).every(({ value }) => value === 0)).toBe(true);
  });

  it("are none where no SDK is registered, and calls work as ever", async () => {
    await using sandbox = await openDaemonSandbox({ telemetry: createTelemetry() });
    expect((await sandbox.commands.run('echo "<$TRACEPARENT$BAGGAGE>"')).stdout).toBe("<>\n");
  });

  it("count bytes both ways, and hold neither content nor paths nor what is run", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    const content = "secret-content".repeat(1_000);
    await sandbox.files.write("secret-file", content);
    expect(await sandbox.files.read("secret-file")).toBe(content);
    let size = 0;
    for await (const chunk of await sandbox.files.read("secret-file", { format: "stream" })) size += chunk.length;
    await sandbox.commands.run("echo secret-command", { envs: { NAME: "secret-value" }, user: "root" });
    await expect(sandbox.files.read("secret-missing")).rejects.toThrow("secret-missing");
    const bytesOf = async (operation: string, direction: string) =>
      (await recorded.points("agent_sandbox.client.io"))
        .filter(({ attributes }) => attributes["agent_sandbox.operation"] === operation && attributes["network.io.direction"] === direction)
        .reduce((sum, { value }) => sum + value, 0);
    expect(size).toBe(content.length);
    expect(await bytesOf("files.write", "transmit")).toBeGreaterThanOrEqual(content.length);
    expect(await bytesOf("files.read", "receive")).toBeGreaterThanOrEqual(2 * content.length);
    expect(dump(recorded.spans())).not.toContain("secret");
    expect(JSON.stringify(await recorded.points("agent_sandbox.client.operation.duration"))).not.toContain("secret");
  });

  it("tell what is run where that is asked for", async () => {
    const recorded = recordTelemetry({ recordsCommands: true });
    await using sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    await sandbox.commands.run("echo hello");
    expect(recorded.span("commands.run").attributes["process.command_args"]).toEqual(["/bin/bash", "-l", "-c", "echo hello"]);
  });

  it("are as many as calls when many run at once, each with its own requests", async () => {
    const recorded = recordTelemetry();
    await using sandbox = await openDaemonSandbox({ telemetry: recorded.telemetry });
    await Promise.all(Array.from({ length: 20 }, (_, index) => sandbox.commands.run(`exit ${index}`, { reject: false })));
    const operations = recorded.spans().filter(({ name }) => name === "commands.run");
    expect(operations.map(({ attributes }) => attributes["process.exit.code"]).sort((a, b) => Number(a) - Number(b))).toEqual([
      ...Array(20).keys(),
    ]);
    const parents = recorded.spans().flatMap(({ name, parentSpanContext }) => (name.endsWith("/Start") ? parentSpanContext?.spanId : []));
    expect(new Set(parents)).toEqual(new Set(operations.map((span) => span.spanContext().spanId)));
  });
});

function dump(
  spans: readonly { readonly name: string; readonly attributes: object; readonly events: readonly object[]; readonly status: object }[],
): string {
  return JSON.stringify(spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })));
}
