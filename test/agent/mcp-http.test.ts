import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { connect as connectSocket } from "node:net";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { describe, expect, it } from "vitest";
import { type McpHttpOptions, serveMcpHttp } from "../../src/agent/mcp/http.js";
import { Sandbox } from "../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../support/platform.js";
import { ABX, platformEnv, runAbx } from "../support/run-abx.js";

const POLL = { timeout: 15_000 };

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const HEADERS = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: "POST", headers: { ...HEADERS, ...headers }, body: JSON.stringify(body) });

/** With headers that fetch sets by itself. */
function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers: { ...HEADERS, ...headers } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject).end(JSON.stringify(INITIALIZE));
  });
}

async function connect(url: string, token?: string) {
  const headers = token === undefined ? undefined : { Authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: headers && { headers } });
  const client = new Client({ name: "test", version: "1" });
  // The two halves of the library disagree about members that may be undefined.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return { client, transport };
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? "";

describe("who may use the MCP server over HTTP", () => {
  it("nobody but this machine without a token, and never anybody with an empty one", async () => {
    for (const options of [{ host: "0.0.0.0" }, { host: "::" }, { host: "192.0.2.1" }, { token: "" }, { host: "0.0.0.0", token: "" }]) {
      await expect(serveMcpHttp(options)).rejects.toMatchObject({
        name: "InvalidArgumentError",
        message: expect.stringContaining("token"),
      });
    }
    await using server = await serveMcpHttp({ host: "0.0.0.0", token: "secret" });
    expect(server.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/mcp$/);
  });

  it("only who has the token, and no page of an origin that was not allowed", async () => {
    await using server = await serveMcpHttp({ token: "secret", allowedOrigins: ["https://app.example"] });
    const missing = await post(server.url, INITIALIZE);
    expect([missing.status, missing.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    for (const given of ["Bearer wrong", "Bearer secretsecret", "Basic secret", "Bearer "]) {
      expect((await post(server.url, INITIALIZE, { Authorization: given })).status, given).toBe(401);
    }
    const Authorization = "Bearer secret";
    expect((await post(server.url, INITIALIZE, { Authorization })).status).toBe(200);
    expect(await statusOf(server.url, { Authorization, Origin: "https://app.example" })).toBe(200);
    expect(await statusOf(server.url, { Authorization, Origin: "https://evil.example" })).toBe(403);
    expect(await statusOf(server.url, { Authorization, Origin: "null" })).toBe(403);
    const preflight = (origin: string) => fetch(server.url, { method: "OPTIONS", headers: { Origin: origin } });
    const allowed = await preflight("https://app.example");
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([204, "https://app.example"]);
    const refused = await preflight("https://evil.example");
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
    expect(await statusOf(server.url, { Authorization, Host: "evil.example" })).toBe(403);
    expect((await fetch(server.url.replace("/mcp", "/health"))).status).toBe(200);
    expect((await fetch(server.url.replace("/mcp", "/other"), { headers: { Authorization } })).status).toBe(404);
  });

  it("MCP-08: sessions are counted, end when they are idle, and unknown ones are told", async () => {
    await using server = await serveMcpHttp({ maxSessions: 1, idleTimeoutMs: 2_000 });
    expect((await post(server.url, { jsonrpc: "2.0", id: 1, method: "tools/list" })).status).toBe(400);
    const first = await post(server.url, INITIALIZE, { "Content-Type": "application/json; charset=utf-8" });
    expect(first.status).toBe(200);
    const session = { "Mcp-Session-Id": first.headers.get("mcp-session-id") ?? "" };
    const full = await post(server.url, INITIALIZE);
    expect(full.status).toBe(503);
    expect(await full.json()).toMatchObject({ jsonrpc: "2.0", error: { code: -32_000 } });
    expect((await post(server.url, { jsonrpc: "2.0", id: 2, method: "tools/list" }, session)).status).toBe(200);
    await expect
      .poll(async () => (await post(server.url, { jsonrpc: "2.0", id: 3, method: "ping" }, session)).status, {
        interval: 4_000,
        timeout: 20_000,
      })
      .toBe(404);
    const next = await post(server.url, INITIALIZE);
    expect(next.status).toBe(200);
    const nextSession = { "Mcp-Session-Id": next.headers.get("mcp-session-id") ?? "" };
    expect((await fetch(server.url, { method: "DELETE", headers: nextSession })).status).toBe(200);
    expect((await post(server.url, { jsonrpc: "2.0", id: 4, method: "ping" }, nextSession)).status).toBe(404);
    expect((await post(server.url, { jsonrpc: "2.0", id: 5, method: "ping" }, { "Mcp-Session-Id": "unknown" })).status).toBe(404);
    expect((await fetch(server.url)).status).toBe(400);
  });
});

describeOnPlatform("the MCP server over HTTP", (platform) => {
  const { apiUrl, sandboxUrl, apiKey } = platform;
  const connection = { apiUrl, sandboxUrl, apiKey };
  const options: McpHttpOptions = { token: "secret", create: { ...connection, timeoutMs: 120_000 } };
  const isGone = (sandboxId: string) =>
    Sandbox.getInfo(sandboxId, connection).then(
      () => false,
      () => true,
    );

  it("MCP-08: clients that call at the same time get their own answers, from sandboxes of their own, which end with their sessions", async () => {
    await using server = await serveMcpHttp(options);
    const clients = await Promise.all([connect(server.url, "secret"), connect(server.url, "secret")]);
    const whoAmI = { name: "run_command", arguments: { command: "echo $E2B_SANDBOX_ID" } };
    const answers = await Promise.all(clients.map(({ client }) => client.callTool(whoAmI)));
    const ids = answers.map((answer) => /stdout:\n(\S+)/.exec(textOf(answer))?.[1] ?? "");
    expect(new Set(ids).size).toBe(2);
    const [first, second] = clients;
    const foreign = await first?.client.callTool({ name: "list_files", arguments: { sandbox_id: ids[1] } });
    expect(textOf(foreign)).toContain("has no sandbox");
    await Promise.all(
      clients.map(async ({ client }, index) => {
        const calls = Array.from({ length: 5 }, (_, n) =>
          client.callTool({ name: "run_command", arguments: { command: `echo ${index}-${n}` } }),
        );
        expect((await Promise.all(calls)).map(textOf)).toEqual(calls.map((_, n) => `exit code: 0\nstdout:\n${index}-${n}`));
      }),
    );
    await first?.transport.terminateSession();
    await expect.poll(() => isGone(ids[0] ?? ""), POLL).toBe(true);
    expect(await isGone(ids[1] ?? "")).toBe(false);
    await second?.client.close();
    await first?.client.close();
    await server.close();
    expect(await isGone(ids[1] ?? "")).toBe(true);
  });

  it("abx mcp serves it, tells its address on stderr, ends cleanly on SIGTERM, and does not open up to others without a token", async () => {
    const env = { PATH: process.env.PATH, ...platformEnv(platform), AGENT_SANDBOX_MCP_TOKEN: "secret" };
    const child = spawn(process.execPath, [ABX, "mcp", "--transport", "http", "--port", "0"], { env });
    let stdout = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    const url = await new Promise<string>((resolve) => {
      createInterface({ input: child.stderr }).on("line", (line) => resolve(/listening at (\S+)/.exec(line)?.[1] ?? line));
    });
    const { client } = await connect(url, "secret");
    const sandboxId = /stdout:\n(\S+)/.exec(
      textOf(await client.callTool({ name: "run_command", arguments: { command: "echo $E2B_SANDBOX_ID" } })),
    )?.[1];
    child.kill("SIGTERM");
    expect(await once(child, "close")).toEqual([0, null]);
    expect(stdout).toBe("");
    expect(await isGone(sandboxId ?? "")).toBe(true);
    await client.close();
    const refused = await runAbx(["mcp", "--transport", "http", "--host", "0.0.0.0", "--port", "0"], { env: platformEnv(platform) });
    expect(refused).toMatchObject({ status: 2, stdout: "", stderr: expect.stringContaining("AGENT_SANDBOX_MCP_TOKEN") });
  });

  it("MCP-04: a cancelled call stops its command, and progress arrives on the way", async () => {
    await using server = await serveMcpHttp(options);
    const { client } = await connect(server.url, "secret");
    const controller = new AbortController();
    const onprogress = ({ message }: { message?: string | undefined }) => void (message === "started" && controller.abort("enough"));
    const params = { name: "run_command", arguments: { command: "echo started; sleep 876" } };
    await expect(client.callTool(params, undefined, { signal: controller.signal, onprogress })).rejects.toThrow(/enough/);
    const count = { name: "run_command", arguments: { command: "pgrep -fc '[s]leep 876' || true" } };
    await expect.poll(async () => textOf(await client.callTool(count)), POLL).toContain("stdout:\n0");
    await client.close();
  });

  it("MCP-04: the stream of a cancelled call ends, and of calls with one id that of all but the last", async () => {
    await using server = await serveMcpHttp(options);
    const auth = { Authorization: "Bearer secret" };
    const opened = await post(server.url, INITIALIZE, auth);
    await opened.text();
    const session = { ...auth, "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
    const run = (id: number, command: string) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call" },
      params: { name: "run_command", arguments: { command } },
    });
    const cancel = (requestId: number) =>
      post(server.url, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }, session);
    const slow = await post(server.url, run(5, "sleep 765"), session);
    await cancel(5);
    expect(await slow.text()).toBe("");

    const first = await post(server.url, run(6, "sleep 765"), session);
    const second = await post(server.url, run(6, "echo second"), session);
    expect(await first.text()).toBe("");
    expect(await second.text()).toContain("second");

    // Of calls in one request the others are answered.
    const batch = await post(server.url, [run(7, "sleep 765"), run(8, "until [ -e go ]; do sleep 0.1; done; echo other")], session);
    await cancel(7);
    await (await post(server.url, run(9, "touch go"), session)).text();
    const answered = await batch.text();
    expect(answered).toContain("other");
    expect(answered).not.toContain('"id":7');
    const count = await post(server.url, run(10, "pgrep -fc '[s]leep 765' || true"), session);
    expect(await count.text()).toContain("stdout:\\n0");
  });

  it("MCP-08: a silent peer is asked whether it lives, by the MCP server and by the platform", async () => {
    await using server = await serveMcpHttp(options);
    for (const url of [server.url, platform.apiUrl]) {
      const port = Number(new URL(url).port);
      const socket = connectSocket(port, "127.0.0.1");
      await once(socket, "connect");
      // proc_net_tcp(5): connections by local and remote port, in hexadecimal; the timer 02 is that of keep-alive.
      const ends = [port, socket.localPort ?? 0].map((end) => `0100007F:${end.toString(16).toUpperCase().padStart(4, "0")}`).join(" ");
      const timer = () =>
        readFileSync("/proc/net/tcp", "utf8")
          .split("\n")
          .find((line) => line.includes(ends))
          ?.trim()
          .split(/\s+/)[5];
      await expect.poll(timer, POLL).toMatch(/^02:/);
      socket.destroy();
    }
  });

  it("MCP-08: a client that drops its stream during a call harms nobody", async () => {
    await using server = await serveMcpHttp({ ...options, idleTimeoutMs: 60_000 });
    const auth = { Authorization: "Bearer secret" };
    const opened = await post(server.url, INITIALIZE, auth);
    await opened.text();
    const session = { ...auth, "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
    const call = {
      jsonrpc: "2.0",
      id: 9,
      method: "tools/call",
      params: { name: "run_command", arguments: { command: "sleep 0.3; echo done" } },
    };
    for (let round = 0; round < 5; round++) {
      const dropped = await post(server.url, { ...call, id: 10 + round }, session);
      await dropped.body?.cancel();
    }
    const answer = await post(server.url, call, session);
    expect(await answer.text()).toContain("done");
  });
});
