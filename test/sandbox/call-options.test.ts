import { afterEach, describe, expect, it, vi } from "vitest";
import { Sandbox } from "../../src/index.js";
import { openWireServer, sendJson, type WireServer } from "../transport/support/wire-server.js";

const CREATED = { sandboxID: "iabc", templateID: "base", clientID: "c", envdVersion: "0.4.0", envdAccessToken: "token" };
const INFO = { ...CREATED, startedAt: "2026-01-01T00:00:00Z", endAt: "2026-01-01T01:00:00Z", state: "running", cpuCount: 1, memoryMB: 512 };

/** A control plane and a daemon in one, which answer whatever is asked. */
const openServer = (): Promise<WireServer> =>
  openWireServer((req, res) => {
    const path = req.url?.split("?")[0];
    if (req.method === "POST" && /\/(?:sandboxes|connect)$/.test(path ?? "")) sendJson(res, 201, CREATED);
    else if (req.method === "GET" && path === "/health") res.writeHead(204).end();
    else if (req.method === "GET" && path === "/files") res.writeHead(200, { "content-length": 1 }).end("x");
    else if (req.method === "GET" && path === "/v2/sandboxes") sendJson(res, 200, []);
    else if (req.method === "GET") sendJson(res, 200, INFO);
    else res.writeHead(204).end();
  });

afterEach(() => vi.unstubAllEnvs());

describe("options of a sandbox", () => {
  it("AUT-06: are used by every call on it, whatever the environment says, and clients never mix", async () => {
    await using server = await openServer();
    await using wrong = await openServer();
    vi.stubEnv("AGENT_SANDBOX_API_KEY", "wrong");
    vi.stubEnv("E2B_API_KEY", "wrong");
    vi.stubEnv("AGENT_SANDBOX_API_URL", wrong.url);
    vi.stubEnv("E2B_DOMAIN", "wrong.invalid");
    const logs: string[] = [];
    const loggedBy = (name: string) => logs.filter((line) => line === name).length;
    const optionsOf = (name: string) => ({
      apiKey: name,
      apiUrl: server.url,
      sandboxUrl: server.url,
      apiHeaders: { "x-client": name },
      logger: { info: () => void logs.push(name) },
    });
    const [one, two] = await Promise.all(["one", "two"].map((name) => Sandbox.create(optionsOf(name))));
    if (one === undefined || two === undefined) throw new Error("no sandboxes");
    const use = async (sandbox: Sandbox) => {
      await sandbox.getInfo();
      await sandbox.setTimeout(60_000, { requestTimeoutMs: undefined, signal: undefined });
      await sandbox.isRunning();
      await sandbox.files.read("a.txt");
      await sandbox.connect();
      await sandbox.pause();
      await sandbox.kill();
    };
    await Promise.all([use(one), use(two)]);
    const calls = server.headers.map((headers, index) => ({ headers, request: server.requests[index] ?? "" }));
    const daemonCalls = calls.filter(({ request }) => / \/(files|health)/.test(request));
    for (const { headers } of daemonCalls) expect([headers["x-api-key"], headers["x-client"]]).toEqual([undefined, undefined]);
    const apiCalls = calls.filter((call) => !daemonCalls.includes(call));
    for (const { headers } of apiCalls) expect(headers["x-api-key"]).toBe(headers["x-client"]);
    const counts = ["one", "two"].map((name) => apiCalls.filter(({ headers }) => headers["x-api-key"] === name).length);
    expect(counts[0]).toBe(counts[1]);
    expect(apiCalls).toHaveLength((counts[0] ?? 0) * 2);
    expect(counts[0]).toBeGreaterThanOrEqual(6);
    expect(loggedBy("one")).toBeGreaterThan(0);
    expect(loggedBy("one")).toBe(loggedBy("two"));
    expect(wrong.requests).toEqual([]);
  });

  it("AUT-06: give way to those of a call, and an undefined one clears nothing", async () => {
    await using server = await openServer();
    await using stalled = await openWireServer((req, res) => {
      if (req.method === "POST" && req.url?.endsWith("/sandboxes")) sendJson(res, 201, CREATED);
    });
    vi.stubEnv("AGENT_SANDBOX_API_KEY", "from-environment");
    const sandbox = await Sandbox.create({ apiKey: "own", apiUrl: stalled.url, sandboxUrl: stalled.url, requestTimeoutMs: 60 });
    await expect(sandbox.getInfo({ requestTimeoutMs: undefined })).rejects.toMatchObject({ name: "TimeoutError", timeout: "request" });
    await expect(sandbox.getInfo({ requestTimeoutMs: 0, signal: AbortSignal.timeout(150) })).rejects.toMatchObject({
      name: "TimeoutError",
    });
    const call = { apiKey: "of-the-call", apiUrl: server.url, sandboxUrl: server.url, apiHeaders: { "x-client": "of-the-call" } };
    await Sandbox.getInfo("iabc", call);
    await Sandbox.setTimeout("iabc", 1_000, call);
    await Sandbox.kill("iabc", call);
    await Sandbox.list(call).nextItems();
    await Sandbox.getInfo("iabc", { ...call, apiKey: undefined });
    expect(server.headers.map((headers) => headers["x-api-key"])).toEqual([...Array(4).fill("of-the-call"), "from-environment"]);
    expect(new Set(server.headers.map((headers) => headers["x-client"]))).toEqual(new Set(["of-the-call"]));
  });
});
