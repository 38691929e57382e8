import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bash, collect, frame, startTestDaemon, type TestDaemon } from "./support/process-daemon.js";

let sandbox: TestDaemon;
beforeEach(async () => {
  sandbox = await startTestDaemon();
});
afterEach(async () => {
  await sandbox[Symbol.asyncDispose]();
});

const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${sandbox.baseUrl}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
const get = (path: string, headers: Record<string, string> = {}) => fetch(`${sandbox.baseUrl}${path}`, { headers });

describe("/init", () => {
  it("sets variables, defaults and facts, and says its version", async () => {
    const response = await post("/init", {
      envVars: { A: "1" },
      defaultWorkdir: "/tmp",
      sandboxId: "s1",
      templateId: "base",
      future: true,
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("x-envd-version")).toBe("0.6.13");
    expect(await (await get("/envs")).json()).toEqual({ A: "1", E2B_SANDBOX: "true", E2B_SANDBOX_ID: "s1", E2B_TEMPLATE_ID: "base" });
    expect(readFileSync(join(sandbox.directory, "facts", ".E2B_SANDBOX_ID"), "utf8")).toBe("s1");
    const result = await collect(sandbox.process.start({ process: bash("echo $A $E2B_SANDBOX_ID; pwd"), stdin: false }));
    expect(result.stdout.toString()).toBe("1 s1\n/tmp\n");
  });

  it("LIF-16: replaces the user's variables and keeps those of the system; a command's own win and stay its own", async () => {
    await post("/init", { envVars: { A: "1", B: "2" }, sandboxId: "s1" });
    await post("/init", { envVars: { A: "3" } });
    expect(await (await get("/envs")).json()).toEqual({ A: "3", E2B_SANDBOX: "true", E2B_SANDBOX_ID: "s1" });
    const show = async (envs: Record<string, string>) =>
      (await collect(sandbox.process.start({ process: { ...bash('echo "$A-$B"'), envs }, stdin: false }))).stdout.toString();
    expect(await show({ A: "own" })).toBe("own-\n");
    expect(await show({})).toBe("3-\n");
  });

  it("ignores a call that is older than the last one", async () => {
    await post("/init", { envVars: { A: "new" }, timestamp: "2026-01-02T00:00:00Z" });
    expect((await post("/init", { envVars: { A: "old" }, timestamp: "2026-01-01T00:00:00Z" })).status).toBe(204);
    expect(await (await get("/envs")).json()).toMatchObject({ A: "new" });
  });

  it("is free once, then wants the current token; a call without one opens the sandbox again", async () => {
    expect((await post("/init", { accessToken: "secret" })).status).toBe(204);
    expect((await post("/init", {})).status).toBe(401);
    expect((await post("/init", { accessToken: "other" })).status).toBe(401);
    expect((await post("/init", { accessToken: "secret" })).status).toBe(204);
    expect((await post("/init", { accessToken: "next" }, { "x-access-token": "secret" })).status).toBe(204);
    expect((await get("/envs", { "x-access-token": "secret" })).status).toBe(401);
    expect((await post("/init", {}, { "x-access-token": "next" })).status).toBe(204);
    expect((await get("/envs")).status).toBe(200);
  });

  it.each([
    ["not JSON", "{"],
    ["an array", "[]"],
    ["a number as variable", { envVars: { A: 1 } }],
    ["a name with =", { envVars: { "A=B": "1" } }],
    ["a broken time", { timestamp: "yesterday" }],
    ["a NUL", { defaultUser: "a\0b" }],
  ])("refuses %s with 400 and changes nothing", async (_what, body) => {
    const response = await post("/init", body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 400, message: expect.any(String) });
    expect(await (await get("/envs")).json()).toEqual({ E2B_SANDBOX: "true" });
  });

  it("refuses a body that is too large", async () => {
    const response = await post("/init", { envVars: { A: "x".repeat(5_000_000) } }).catch(() => undefined);
    expect([413, undefined]).toContain(response?.status);
  });
});

describe("access token", () => {
  const routes: readonly (readonly [string, string, string?])[] = [
    ["GET", "/envs"],
    ["GET", "/metrics"],
    ["GET", "/nowhere"],
    ["DELETE", "/files"],
    ["POST", "/process.Process/List", "application/json"],
    ["POST", "/process.Process/Start", "application/connect+json"],
    ["POST", "/process.Process/Connect", "application/connect+json"],
    ["POST", "/process.Process/SendInput", "application/json"],
    ["POST", "/process.Process/Update", "application/json"],
    ["POST", "/filesystem.Filesystem/Stat", "application/json"],
    ["POST", "/filesystem.Filesystem/WatchDir", "application/connect+json"],
    ["POST", "/filesystem.Filesystem/CreateWatcher", "application/json"],
  ];

  it.each(routes)("AUT-03: guards %s %s", async (method, path, type) => {
    sandbox.daemon.state.apply({ accessToken: "Secret" });
    const call = (headers: [string, string][]) =>
      fetch(`${sandbox.baseUrl}${path}`, {
        method,
        headers: type === undefined ? headers : [...headers, ["content-type", type]],
        ...(method === "POST" ? { body: type?.includes("connect") ? frame("{}") : "{}" } : {}),
      });
    for (const headers of [[], [["x-access-token", ""]], [["x-access-token", "wrong"]], [["x-access-token", "secret"]]] as [
      string,
      string,
    ][][]) {
      const response = await call(headers);
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ code: 401, message: expect.stringContaining("token") });
    }
    const twice = await call([
      ["x-access-token", "Secret"],
      ["x-access-token", "Secret"],
    ]);
    expect(twice.status).toBe(401);
    await twice.body?.cancel();
    const right = await call([["x-access-token", "Secret"]]);
    expect(right.status).not.toBe(401);
    await right.body?.cancel();
  });

  it("AUT-03: leaves health open, with any token", async () => {
    sandbox.daemon.state.apply({ accessToken: "Secret" });
    for (const headers of [{}, { "x-access-token": "wrong" }] as Record<string, string>[]) {
      const response = await get("/health", headers);
      expect(response.status).toBe(204);
      expect(response.headers.get("cache-control")).toBe("no-store");
    }
  });
});

describe("routes", () => {
  it("answer unknown paths, methods and content types in JSON", async () => {
    const unknown = await get("/nowhere");
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: 404, message: expect.stringContaining("/nowhere") });
    expect((await post("/process.Process/Nope", {})).status).toBe(404);
    const wrongMethod = await fetch(`${sandbox.baseUrl}/health`, { method: "DELETE" });
    expect(wrongMethod.status).toBe(405);
    expect(wrongMethod.headers.get("allow")).toBe("GET, HEAD");
    expect((await get("/process.Process/List")).status).toBe(405);
  });

  it.each([
    ["/process.Process/List", "text/plain"],
    ["/process.Process/List", "application/connect+json"],
    ["/process.Process/Start", "application/json"],
  ])("STR-03: %s says which types it takes instead of %s", async (path, type) => {
    const response = await post(path, "{}", { "content-type": type });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({ code: 415, message: expect.stringContaining("application/") });
  });

  it("STR-03: unary RPCs take JSON with a charset, protobuf and gRPC-web", async () => {
    expect((await post("/process.Process/List", "{}", { "content-type": "application/json; charset=utf-8" })).status).toBe(200);
    expect((await post("/process.Process/List", "", { "content-type": "application/proto" })).status).toBe(200);
    const grpcWeb = await post("/process.Process/List", "\0\0\0\0\0", { "content-type": "application/grpc-web+proto" });
    expect(await grpcWeb.text()).toContain("grpc-status: 0");
  });

  it("never compress, whatever the client accepts", async () => {
    const response = await post("/process.Process/List", "{}", { "accept-encoding": "gzip, deflate, br" });
    expect(response.headers.get("content-encoding")).toBeNull();
  });

  it("answer preflights without a token and let any origin read", async () => {
    sandbox.daemon.state.apply({ accessToken: "Secret" });
    const response = await fetch(`${sandbox.baseUrl}/process.Process/Start`, {
      method: "OPTIONS",
      headers: { origin: "https://page.example", "access-control-request-headers": "x-access-token" },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-headers")).toBe("x-access-token");
    expect((await get("/health")).headers.get("access-control-allow-origin")).toBe("*");
  });

  it("keep the connection for the next request, after unary calls and streams", async () => {
    const body = `\0\0\0\0\x32${JSON.stringify({ process: { cmd: "/bin/true" }, stdin: false }).padEnd(0x32)}`;
    const start = `POST /process.Process/Start HTTP/1.1\r\nhost: x\r\ncontent-type: application/connect+json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const list = "POST /process.Process/List HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    const answer = await rawExchange(start + list);
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
    expect(answer).not.toMatch(/connection: close/i);
  });

  it("survive a Host header that is none", async () => {
    const answer = await rawExchange(
      "POST /process.Process/List HTTP/1.1\r\nhost: a b[\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200/);
    expect((await get("/health")).status).toBe(204);
  });

  it("measure the sandbox", async () => {
    const metrics = await (await get("/metrics")).json();
    expect(metrics).toMatchObject({ cpu_count: expect.any(Number), mem_total: expect.any(Number), disk_total: expect.any(Number) });
    expect(metrics.cpu_used_pct).toBeGreaterThanOrEqual(0);
    expect(metrics.cpu_used_pct).toBeLessThanOrEqual(100);
    expect(metrics.mem_used).toBeLessThanOrEqual(metrics.mem_total);
  });
});

describe("tunnels", () => {
  it("carry bytes both ways and half-close", async () => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("end", () => socket.end(`got ${Buffer.concat(chunks).toString()}`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo; // a TCP listener has no other kind of address
    const answer = await rawExchange(`CONNECT sandbox:${port} HTTP/1.1\r\nhost: x\r\n\r\nearly `, "late");
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^\r]*\r\n\r\ngot early late$/);
    server.close();
  });

  it("reach a server on the IPv6 loopback that starts to listen a moment later", async () => {
    const probe = createServer();
    await new Promise<void>((resolve) => probe.listen(0, "::1", resolve));
    const { port } = probe.address() as AddressInfo; // a TCP listener has no other kind of address
    await new Promise((resolve) => probe.close(resolve));
    const answer = rawExchange(`CONNECT sandbox:${port} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const server = createServer((socket) => socket.end("six"));
    setTimeout(() => server.listen(port, "::1"), 50);
    expect(await answer).toMatch(/\r\n\r\nsix$/);
    server.close();
  });

  it("answer 502 in JSON when nothing listens, 400 for what is no port", async () => {
    expect(await rawExchange("CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n")).toMatch(/^HTTP\/1\.1 502 [\s\S]*\{"code":502,[^}]*"port":1\}$/);
    for (const target of ["x:0", "x:70000", "x", "x:http"]) {
      expect(await rawExchange(`CONNECT ${target} HTTP/1.1\r\nhost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400/);
    }
  });
});

/** Send bytes, then `rest` and the end once something came back; resolves with all that came until the peer ended. */
function rawExchange(first: string, rest?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ port: sandbox.port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.write(first));
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      if (text === "" && rest !== undefined) socket.end(rest);
      text += chunk.toString();
      if (rest === undefined && /^HTTP\/1\.1 200[\s\S]*content-length/i.test(text)) socket.end();
    });
    socket.on("end", () => {
      socket.destroy();
      resolve(text);
    });
  });
}
