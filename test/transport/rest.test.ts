import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  RateLimitError,
  Sandbox,
  SandboxNotFoundError,
  ServiceBusyError,
  TemplateError,
  TimeoutError,
} from "../../src/index.js";
import { type Answer, openWireServer, sendJson } from "./support/wire-server.js";

const SANDBOX = { sandboxID: "i1", templateID: "t1", clientID: "c", envdVersion: "0.6.13", envdAccessToken: "secret-token" };

describe("the control plane's routes", () => {
  const older =
    (missing: Answer): Answer =>
    (req, res, body) =>
      req.url?.startsWith("/v2/sandboxes") && req.method === "POST" ? missing(req, res, body) : sendJson(res, 201, SANDBOX);
  const missingRoutes: [string, Answer][] = [
    ["404 JSON", (_req, res) => sendJson(res, 404, { code: 404, message: "no matching operation was found" })],
    ["405 empty", (_req, res) => res.writeHead(405).end()],
    ["404 text", (_req, res) => res.writeHead(404).end("404 page not found")],
    ["501", (_req, res) => res.writeHead(501).end()],
  ];

  it.each(missingRoutes)("fall back to the older generation on %s, once per server", async (_name, missing) => {
    await using server = await openWireServer(older(missing));
    const options = { apiUrl: server.url, sandboxUrl: server.url, apiKey: "k" };
    await Sandbox.create("base", options);
    await Sandbox.connect("i1", { ...options, timeoutMs: 61_500 });
    await Sandbox.create({ ...options, timeoutMs: 1 });
    expect(server.requests).toEqual(["POST /v2/sandboxes", "POST /sandboxes", "POST /sandboxes/i1/connect", "POST /sandboxes"]);
    expect(server.bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
      { templateID: "base" },
      { templateID: "base", secure: true, timeout: 300 },
      { timeout: 62 },
      { templateID: "base", secure: true, timeout: 1 },
    ]);
  });

  it("stay with the newest once it worked, and never fall back on other errors", async () => {
    let isBroken = false;
    await using server = await openWireServer((_req, res) =>
      isBroken ? sendJson(res, 404, { code: 404, message: "no" }) : sendJson(res, 201, SANDBOX),
    );
    const options = { apiUrl: server.url, apiKey: "k" };
    await Sandbox.create(options);
    isBroken = true;
    await expect(Sandbox.create(options)).rejects.toBeInstanceOf(TemplateError);
    await expect(Sandbox.connect("i2", options)).rejects.toBeInstanceOf(SandboxNotFoundError);
    expect(server.requests).toEqual(["POST /v2/sandboxes", "POST /v2/sandboxes", "POST /v2/sandboxes/i2/connect"]);
    for (const [status, type] of [
      [401, AuthenticationError],
      [503, ServiceBusyError],
    ] as const) {
      await using refusing = await openWireServer((_req, res) => res.writeHead(status).end());
      await expect(Sandbox.create({ apiUrl: refusing.url, apiKey: "k" })).rejects.toBeInstanceOf(type);
      expect(refusing.requests).toHaveLength(1);
    }
  });

  it("are sent again after 429 with whole seconds, and the request timeout bounds the waits", async () => {
    let left = 2;
    await using server = await openWireServer((_req, res) => {
      left -= 1;
      if (left >= 0) sendJson(res, 429, { code: 429, message: "wait" }, { "retry-after": "0" });
      else sendJson(res, 201, SANDBOX);
    });
    await Sandbox.create({ apiUrl: server.url, apiKey: "k" });
    expect(server.requests).toHaveLength(3);
    left = 1;
    await expect(Sandbox.create({ apiUrl: server.url, apiKey: "k", retries: 0 })).rejects.toBeInstanceOf(RateLimitError);
    await using slow = await openWireServer((_req, res) => sendJson(res, 429, { code: 429, message: "wait" }, { "retry-after": "30" }));
    const error = await Sandbox.create({ apiUrl: slow.url, apiKey: "k", requestTimeoutMs: 5_000 }).catch((e: unknown) => e);
    expect(error).toMatchObject({ name: "RateLimitError", retryAfterMs: 30_000, statusCode: 429 });
    expect(slow.requests).toHaveLength(1);
    await using dated = await openWireServer((_req, res) => sendJson(res, 429, {}, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }));
    await expect(Sandbox.create({ apiUrl: dated.url, apiKey: "k" })).rejects.toBeInstanceOf(RateLimitError);
    expect(dated.requests).toHaveLength(1);
  });

  it("that change nothing are sent again after a lost connection or 503, a creation is not", async () => {
    let count = 0;
    await using server = await openWireServer((req, res) => {
      count += 1;
      if (count === 1) return void req.socket.destroy();
      if (count === 2) return void res.writeHead(503).end();
      sendJson(res, 200, []);
    });
    expect(await Sandbox.list({ apiUrl: server.url, apiKey: "k" }).nextItems()).toEqual([]);
    expect(count).toBe(3);
    count = 0;
    await expect(Sandbox.create({ apiUrl: server.url, apiKey: "k" })).rejects.toMatchObject({ name: "ConnectionError" });
    expect(count).toBe(1);
  });

  it("tell a kill of nothing by 404, with or without a body", async () => {
    for (const missing of missingRoutes.slice(0, 1)) {
      await using server = await openWireServer(missing[1]);
      expect(await Sandbox.kill("i1", { apiUrl: server.url, apiKey: "k" })).toBe(false);
    }
    await using empty = await openWireServer((_req, res) => res.writeHead(404).end());
    expect(await Sandbox.kill("i1", { apiUrl: empty.url, apiKey: "k" })).toBe(false);
  });

  it("AUT-07: the key goes to the control plane only, the token to the daemon only, and no redirect is followed", async () => {
    await using elsewhere = await openWireServer((_req, res) => sendJson(res, 200, SANDBOX));
    await using daemon = await openWireServer((_req, res) => res.writeHead(204).end());
    await using api = await openWireServer((req, res) =>
      req.method === "GET" ? res.writeHead(302, { location: elsewhere.url }).end() : sendJson(res, 201, SANDBOX),
    );
    const options = { apiUrl: api.url, sandboxUrl: daemon.url, apiKey: "secret-key", apiHeaders: { "x-mine": "1" } };
    const sandbox = await Sandbox.create(options);
    expect(await sandbox.isRunning()).toBe(true);
    expect(api.headers[0]).toMatchObject({ "x-api-key": "secret-key", "x-mine": "1" });
    expect(api.headers[0]).not.toHaveProperty("x-access-token");
    expect(daemon.headers[0]).toMatchObject({ "x-access-token": "secret-token", "e2b-sandbox-id": "i1", "e2b-sandbox-port": "49983" });
    expect(daemon.headers[0]).not.toHaveProperty("x-api-key");
    expect(daemon.headers[0]).not.toHaveProperty("x-mine");
    const error = await sandbox.getInfo().catch((e: unknown) => e);
    expect(String(error) + JSON.stringify(error)).not.toMatch(/secret/);
    expect(elsewhere.requests).toEqual([]);
  });

  it("without a key are refused before anything is sent", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 201, SANDBOX));
    await expect(Sandbox.create({ apiUrl: server.url })).rejects.toBeInstanceOf(AuthenticationError);
    expect(server.requests).toEqual([]);
  });

  it("NET-07: a fetch that is given serves every call", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 201, SANDBOX));
    const seen: string[] = [];
    const spy: typeof fetch = (input, init) => {
      seen.push(String(input));
      return fetch(input, init);
    };
    const sandbox = await Sandbox.create({ apiUrl: server.url, sandboxUrl: server.url, apiKey: "k", fetch: spy });
    await sandbox.isRunning();
    expect(seen).toEqual([`${server.url}/v2/sandboxes`, `${server.url}/health`]);
  });

  it("that do not answer end with a TimeoutError that names the option", async () => {
    await using server = await openWireServer(() => {});
    await expect(Sandbox.getInfo("i1", { apiUrl: server.url, apiKey: "k", requestTimeoutMs: 50 })).rejects.toBeInstanceOf(TimeoutError);
  });
});
