import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { command, defineCommands } from "../../src/server/define-commands.js";
import { defineRoute, ServerAnswer } from "../../src/server/route.js";
import type { ServerOptions } from "../../src/server/server-config.js";
import { startServer } from "../../src/server/start-server.js";
import { startTestServer } from "./support/test-server.js";

const commands = defineCommands({ hello: command({ args: { name: "string" }, run: ({ name }) => `Hello, ${name}!` }) });
const TOKEN = "correct-horse";

/** `fetch` sets these headers itself, so that a page cannot. */
function raw(
  url: string,
  headers: Readonly<Record<string, string>>,
  method = "GET",
  path = "/commands",
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    const call = request(url + path, { method, headers }, (response) => {
      response.resume();
      response.once("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    call.once("error", reject);
    call.end();
  });
}

describe("a token", () => {
  test("is needed by every route but /health and /capabilities", async () => {
    await using server = await startTestServer(commands, { token: TOKEN });
    const withToken = (token: string) => ({ "x-access-token": token });
    expect(await server.call("GET", "/commands")).toMatchObject({ status: 401, body: { type: "AuthError" } });
    for (const wrong of ["wrong", `${TOKEN}x`, TOKEN.slice(1), " "])
      expect((await server.call("GET", "/commands", undefined, withToken(wrong))).status).toBe(401);
    expect((await server.call("GET", "/commands", undefined, withToken(TOKEN))).status).toBe(200);
    expect((await server.call("POST", "/commands/hello", { name: "x" })).status).toBe(401);
    expect((await server.call("GET", "/health")).body).toEqual({ status: "ok" });
    expect((await server.call("GET", "/capabilities")).body.groups).toEqual({
      core: true,
      commands: true,
      file_ops: true,
      process: true,
      terminal: true,
      system: true,
      dev_tools: false,
      browser: false,
    });
  });

  test("comes behind the route and before the group, as the contract says", async () => {
    await using server = await startTestServer(commands, { token: TOKEN, groups: { process: false } });
    expect((await server.call("GET", "/nowhere")).status).toBe(404);
    expect((await server.call("POST", "/shell", "no json")).status).toBe(401);
    const token = { "x-access-token": TOKEN };
    expect(await server.call("POST", "/shell", "no json", token)).toMatchObject({
      status: 404,
      body: { error: "Built-in route 'POST /shell' is disabled" },
    });
    expect(await server.call("POST", "/commands/hello", "no json", token)).toMatchObject({ status: 400, body: { type: "ValueError" } });
    expect((await server.call("POST", "/commands/nowhere", "[1]", token)).status).toBe(400);
  });
});

describe("without a token", () => {
  test("only known names of the host are served, so that a page cannot rebind its own", async () => {
    process.env.E2B_SANDBOX_ID = "iabc";
    try {
      await using server = await startTestServer(commands, { allowedHosts: ["sandbox.Internal"] });
      for (const host of [
        "127.0.0.1:9000",
        "[::1]:9000",
        "localhost",
        "LOCALHOST:1",
        "x.localhost",
        "sandbox.internal",
        "9000-iabc.example.org",
      ]) {
        expect((await raw(server.url, { host })).status, host).toBe(200);
      }
      for (const host of ["evil.example", "9000-other.example.org", "localhost.evil.example", "xiabc.example.org", "9000-iabc", "a b"]) {
        expect((await raw(server.url, { host })).status, host).toBe(403);
      }
      await using guarded = await startTestServer(commands, { token: TOKEN });
      expect((await raw(guarded.url, { host: "any.example", "x-access-token": TOKEN })).status).toBe(200);
    } finally {
      delete process.env.E2B_SANDBOX_ID;
    }
  });

  test("pages are refused unless their origin is allowed", async () => {
    await using server = await startTestServer(commands, { allowedOrigins: ["https://app.example.org"] });
    for (const origin of ["https://evil.example", "null", "https://app.example.org.evil.example", server.url]) {
      expect((await raw(server.url, { origin })).status, origin).toBe(403);
      expect((await raw(server.url, { origin }, "OPTIONS")).status, origin).toBe(403);
    }
    for (const site of ["cross-site", "same-site"]) expect((await raw(server.url, { "sec-fetch-site": site })).status).toBe(403);
    const allowed = await raw(server.url, { origin: "https://app.example.org", "sec-fetch-site": "cross-site" });
    expect(allowed).toMatchObject({ status: 200, headers: { "access-control-allow-origin": "https://app.example.org" } });
    expect((await raw(server.url, { origin: "https://app.example.org" }, "OPTIONS")).status).toBe(204);
    expect((await raw(server.url, {})).headers["access-control-allow-origin"]).toBeUndefined();
  });
});

test.each(["PUT", "PATCH", "HEAD", "TRACE"])("the method %s is answered with 501", async (method) => {
  await using server = await startTestServer(commands);
  expect((await raw(server.url, {}, method)).status).toBe(501);
});

test("paths are compared as they are, but for slashes at the end", async () => {
  await using server = await startTestServer(commands);
  for (const path of ["/health/", "/health//"]) expect((await raw(server.url, {}, "GET", path)).status).toBe(200);
  for (const path of ["//health", "/Health", "/health/x", "/%68ealth", "/commands/%zz"])
    expect((await raw(server.url, {}, "GET", path)).status).toBe(404);
});

test("malformed requests end with 400, and the server goes on", async () => {
  await using server = await startTestServer(commands);
  for (const text of [
    "garbage\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "GET /pty HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  ]) {
    const socket = connect(server.server.port, "127.0.0.1");
    socket.end(text);
    let said = "";
    for await (const chunk of socket) said += String(chunk);
    expect(said).toMatch(/^HTTP\/1\.1 400 /);
  }
  expect((await server.call("GET", "/health")).status).toBe(200);
});

test("bodies above the limit are refused without being kept", async () => {
  await using server = await startTestServer(commands);
  expect((await server.call("POST", "/commands/hello", { name: "x".repeat(5 * 1024 * 1024) })).status).toBe(413);
  expect((await server.call("GET", "/health")).status).toBe(200);
});

describe("settings", () => {
  const names = ["AGENT_SANDBOX_SERVER_TOKEN", "EBX_SERVER_TOKEN", "EBX_SERVER_DISABLED_GROUPS", "EBX_SERVER_BASE_DIR"];
  afterEach(() => {
    for (const name of names) delete process.env[name];
  });

  test("come from options, then from our variables, then from those of the Python runtime", async () => {
    process.env.EBX_SERVER_TOKEN = "old";
    process.env.EBX_SERVER_DISABLED_GROUPS = "system, core,unknown,dev_tools";
    await using server = await startTestServer(commands, { groups: { dev_tools: true } });
    expect((await server.call("GET", "/commands", undefined, { "x-access-token": "old" })).status).toBe(200);
    expect((await server.call("GET", "/capabilities")).body.groups).toMatchObject({
      core: true,
      system: false,
      dev_tools: false,
      process: true,
    });
    process.env.AGENT_SANDBOX_SERVER_TOKEN = "new";
    await using newer = await startTestServer(commands);
    expect((await newer.call("GET", "/commands", undefined, { "x-access-token": "old" })).status).toBe(401);
    expect((await newer.call("GET", "/commands", undefined, { "x-access-token": "new" })).status).toBe(200);
  });

  test.each<[ServerOptions, string]>([
    [{ groups: { core: false } }, "'core' cannot be switched off"],
    [{ groups: { shell: true } as ServerOptions["groups"] }, "no capability group 'shell'"],
    [{ token: "" }, "token must not be empty"],
    [{ port: -1 }, "port must be a port"],
    [{ maxUploadBytes: 0 }, "maxUploadBytes"],
    [{ customCommandsFile: "/no/such/file" }, "cannot be read as JSON"],
  ])("%j cannot be", async (options, message) => {
    await expect(startServer(commands, { port: 0, ptyPort: 0, ...options })).rejects.toThrow(message);
  });

  test("a port that is taken rejects, and leaves nothing open", async () => {
    await using server = await startTestServer(commands);
    await expect(startServer(commands, { host: "127.0.0.1", port: 0, ptyPort: server.server.port })).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });
});

describe("custom routes", () => {
  const routes = [
    defineRoute({ method: "GET", path: "/hello/{name}", handle: ({ params, query }) => ({ hello: params.name, loud: query.get("loud") }) }),
    defineRoute({
      method: "POST",
      path: "/made",
      group: "system",
      isOpen: true,
      handle: ({ body }) => ServerAnswer.json(201, { made: body.what }, { "x-made": "yes" }),
    }),
    defineRoute({ method: "GET", path: "/refused", handle: () => ServerAnswer.error(418, "no coffee", "TeapotError") }),
    defineRoute({ method: "DELETE", path: "/fails", handle: () => Promise.reject(new RangeError("too far")) }),
    defineRoute({
      method: "GET",
      path: "/ticks",
      handle: () =>
        ServerAnswer.events(
          (async function* () {
            yield { event: "tick", data: 1 };
            yield { data: { last: true } };
          })(),
        ),
    }),
  ];

  test("are served beside those of the server, with its checks", async () => {
    await using server = await startTestServer(commands, { routes, token: TOKEN });
    const token = { "x-access-token": TOKEN };
    expect((await server.call("GET", "/hello/a%2Fb?loud=1")).status).toBe(401);
    expect((await server.call("GET", "/hello/a%2Fb?loud=1", undefined, token)).body).toEqual({ hello: "a/b", loud: "1" });
    const made = await server.call("POST", "/made", { what: "it" });
    expect([made.status, made.body, made.headers.get("x-made")]).toEqual([201, { made: "it" }, "yes"]);
    expect(await server.call("GET", "/refused", undefined, token)).toMatchObject({
      status: 418,
      body: { error: "no coffee", type: "TeapotError" },
    });
    expect(await server.call("DELETE", "/fails", undefined, token)).toMatchObject({
      status: 500,
      body: { error: "too far", type: "RangeError" },
    });
    const ticks = await (await fetch(`${server.url}/ticks`, { headers: token })).text();
    expect(ticks).toBe('event: tick\ndata: 1\n\ndata: {"last":true}\n\n');
    await using off = await startTestServer(commands, { routes, groups: { system: false } });
    expect((await off.call("POST", "/made", {})).status).toBe(404);
  });

  test("cannot take the place of another route, nor have a path that cannot be", async () => {
    const other = defineRoute({ method: "GET", path: "/process/{any}", handle: () => ({}) });
    await expect(startServer(commands, { port: 0, ptyPort: 0, routes: [other] })).rejects.toThrow("another one has its place");
    expect(() => defineRoute({ method: "GET", path: "no-slash", handle: () => ({}) })).toThrow("a route's path");
    expect(() => defineRoute({ method: "PUT" as "GET", path: "/x", handle: () => ({}) })).toThrow("a route's method");
  });
});
