import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signFileUrl } from "../../src/shared/signed-url.js";
import { type CreatedSandbox, startTestControl, type TestControl } from "../control/support/test-control.js";

let control: TestControl;
let sandbox: CreatedSandbox & { readonly envdAccessToken: string };
beforeAll(async () => {
  control = await startTestControl();
  sandbox = (await control.create()) as typeof sandbox;
});
afterAll(() => control.stop());

/** Send bytes as they are and collect everything until the peer closes or is silent. */
function raw(bytes: string, silentAfterMs = 1_500): Promise<string> {
  const { hostname, port } = new URL(control.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let text = "";
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    let timer = setTimeout(finish, silentAfterMs);
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
      clearTimeout(timer);
      timer = setTimeout(finish, 300);
    });
    socket.on("error", finish).on("close", finish);
    socket.write(bytes, "latin1");
  });
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]));
const toSandbox = () => `Host: localhost\r\nE2b-Sandbox-Id: ${sandbox.sandboxID}\r\nE2b-Sandbox-Port: 49983\r\n`;

/** 200 as long as the sandbox obeys the token that its creator got. */
async function ownStatus(): Promise<number> {
  return (await control.edge(sandbox, "/envs")).status;
}

describe("names of hosts and pages", () => {
  it.each([
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "0x7f000001.example",
    "[::1].evil",
    "localhost@evil.example",
    "evil.example:80",
  ])("a request for the host %s is refused, with and without a key", async (host) => {
    for (const headers of ["", `X-API-Key: ${control.platform.info.apiKey}\r\n`, toSandbox().replace(/^Host.*\r\n/, "")]) {
      const [status] = statuses(await raw(`GET /v2/sandboxes HTTP/1.1\r\nHost: ${host}\r\n${headers}Connection: close\r\n\r\n`));
      expect([400, 403]).toContain(status);
    }
  });

  it.each([
    ["two of them", "Host: localhost\r\nHost: evil.example\r\n"],
    ["none", ""],
    ["an empty one", "Host: \r\n"],
    ["one that differs from the target", null],
  ])("a Host header that is %s is refused", async (_what, header) => {
    const request =
      header === null
        ? "GET http://evil.example/v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        : `GET /v2/sandboxes HTTP/1.1\r\n${header}X-API-Key: ${control.platform.info.apiKey}\r\nConnection: close\r\n\r\n`;
    const [status] = statuses(await raw(request));
    // Of two, the first counts everywhere or none does; the second must never choose.
    expect([200, 400, 403]).toContain(status);
    if (header !== null && !header.includes("evil")) expect(status).not.toBe(200);
  });

  it("a page of another site gets nothing without the key, whatever it sends", async () => {
    for (const origin of ["http://evil.example", "null", "http://localhost.evil.example"]) {
      for (const path of ["/v2/sandboxes", "/sandboxes", "/templates", "/volumes"]) {
        const response = await fetch(control.url + path, { headers: { origin }, ...(path === "/sandboxes" && { method: "POST" }) });
        expect(response.status).toBe(401);
        expect(response.headers.get("access-control-allow-credentials")).toBeNull();
      }
    }
  });
});

describe("requests that mean two things", () => {
  const hidden = () => `GET /init HTTP/1.1\r\n${toSandbox()}\r\n`;

  it.each([
    ["a length and chunks", (body: string) => `Content-Length: ${body.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${body}`],
    ["two lengths", (body: string) => `Content-Length: 0\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
    ["a list of lengths", (body: string) => `Content-Length: 0, ${body.length}\r\n\r\n${body}`],
    ["a signed length", (body: string) => `Content-Length: +${body.length}\r\n\r\n${body}`],
    ["chunks in another spelling", (body: string) => `Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n${body}`],
    ["chunks twice", (body: string) => `Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n${body}`],
    ["chunks before another coding", (body: string) => `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${body}`],
    ["a folded header", (body: string) => `Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n${body}`],
    ["a space before the colon", (body: string) => `Content-Length : ${body.length}\r\n\r\n${body}`],
    ["a bare newline", (body: string) => `X: y\nContent-Length: 0\r\n\r\n${body}`],
    ["a bare carriage return", (body: string) => `X: y\rTransfer-Encoding: chunked\r\n\r\n${body}`],
    ["a header with NUL", (body: string) => `X: a\0b\r\nContent-Length: 0\r\n\r\n${body}`],
    ["a chunk size with a sign", (body: string) => `Transfer-Encoding: chunked\r\n\r\n-1\r\n${body}`],
    ["a chunk size that overflows", (body: string) => `Transfer-Encoding: chunked\r\n\r\n1000000000000000000\r\n${body}`],
  ])("%s: the bytes behind are never a request that was not checked", async (_what, rest) => {
    const answer = await raw(
      `POST /files?path=/tmp/x HTTP/1.1\r\n${toSandbox()}X-Access-Token: ${sandbox.envdAccessToken}\r\n${rest(hidden())}`,
    );
    // Refused as a whole; or read as one way only, and then the request behind went through the same checks, which answer 404 for /init.
    for (const status of statuses(answer).slice(1)) expect([400, 404]).toContain(status);
    expect(answer).not.toContain("HTTP/1.1 204");
    // The sandbox still belongs to the same token.
    expect(await ownStatus()).toBe(200);
  });

  it("an upgrade that is refused ends the connection, so nothing slips through behind it", async () => {
    const answer = await raw(
      `GET /health HTTP/1.1\r\n${toSandbox()}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nPOST /init HTTP/1.1\r\n${toSandbox()}Content-Length: 2\r\n\r\n{}`,
    );
    expect(statuses(answer).length).toBeLessThanOrEqual(1);
    expect(await ownStatus()).toBe(200);
  });

  it("headers of the connection cannot be used to drop or add a header that decides", async () => {
    // "Connection: x-access-token" asks the proxy to drop the token: the request is then refused, never let in.
    const dropped = await raw(
      `GET /metrics HTTP/1.1\r\n${toSandbox()}X-Access-Token: ${sandbox.envdAccessToken}\r\nConnection: close, x-access-token\r\n\r\n`,
    );
    expect(statuses(dropped)[0]).toBe(401);
    const other = await control.create();
    const mixed = await raw(
      `GET /metrics HTTP/1.1\r\n${toSandbox()}E2b-Sandbox-Id: ${other.sandboxID}\r\nX-Access-Token: ${sandbox.envdAccessToken}\r\nConnection: close\r\n\r\n`,
    );
    expect([200, 400, 401]).toContain(statuses(mixed)[0]);
    await control.api("DELETE", `/sandboxes/${other.sandboxID}`);
  });
});

describe("requests that are too large", () => {
  it.each([
    ["one header of 1 MiB", () => `GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${"y".repeat(1_048_576)}\r\n\r\n`],
    ["100000 headers", () => `GET /health HTTP/1.1\r\nHost: localhost\r\n${"x: y\r\n".repeat(100_000)}\r\n`],
    ["a target of 1 MiB", () => `GET /${"x".repeat(1_048_576)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ["a method of 1 MiB", () => `${"X".repeat(1_048_576)} / HTTP/1.1\r\nHost: localhost\r\n\r\n`],
  ])("%s is refused, and the platform goes on", async (_what, request) => {
    const [status] = statuses(await raw(request()));
    expect([undefined, 400, 414, 431]).toContain(status);
    expect((await fetch(`${control.url}/health`)).status).toBe(204);
  });

  it("a body above the bound is refused before it is read", async () => {
    const length = 10 * 1024 * 1024 * 1024;
    const answer = await raw(
      `POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${control.platform.info.apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{`,
    );
    expect(statuses(answer)).toEqual([413]);
  });

  it("hundreds of half requests hold nobody up", async () => {
    const { hostname, port } = new URL(control.url);
    const sockets = Array.from({ length: 300 }, () => {
      const socket = connect(Number(port), hostname);
      socket.on("error", () => socket.destroy());
      socket.write("GET /v2/sandboxes HTTP/1.1\r\nHost: local");
      return socket;
    });
    const beganAt = performance.now();
    expect((await control.api("GET", "/v2/sandboxes")).status).toBe(200);
    expect(performance.now() - beganAt).toBeLessThan(1_000);
    for (const socket of sockets) socket.destroy();
  });

  it("JSON that is deep, or means other things by its names, is an error or nothing", async () => {
    for (const body of [
      `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
      `{"templateID":"base","metadata":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`,
      '{"templateID":"base","__proto__":{"timeout":-1}}',
      '{"templateID":"base","constructor":{"prototype":{"polluted":true}},"metadata":{"__proto__":"x"}}',
    ]) {
      const response = await control.api("POST", "/v2/sandboxes", body);
      expect([201, 400]).toContain(response.status);
      const created = (await response.json()) as { sandboxID?: string };
      if (created.sandboxID !== undefined) await control.api("DELETE", `/sandboxes/${created.sandboxID}`);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

const TRAVERSALS = [
  "..",
  "%2e%2e",
  "%252e%252e",
  "..%2f..%2fetc%2fpasswd",
  "%2e%2e%2f%2e%2e",
  "..%5c..%5cetc",
  "%c0%ae%c0%ae",
  "%00",
  "x%00y",
  "%0d%0aSet-Cookie:x",
  "x".repeat(4_000),
  "%",
  "%zz",
];

describe("ids in paths", () => {
  it.each(TRAVERSALS)("%s finds nothing in any place of any route", async (id) => {
    const routes: [string, string][] = [
      ["GET", `/sandboxes/${id}`],
      ["DELETE", `/sandboxes/${id}`],
      ["POST", `/sandboxes/${id}/timeout`],
      ["GET", `/sandboxes/${id}/isolation`],
      ["POST", `/v2/sandboxes/${id}/connect`],
      ["GET", `/templates/${id}`],
      ["DELETE", `/templates/${id}`],
      ["GET", `/templates/${id}/tags`],
      ["GET", `/templates/aliases/${id}`],
      ["GET", `/templates/${id}/files/${"a".repeat(64)}`],
      ["GET", `/templates/abc/files/${id}`],
      ["GET", `/templates/abc/builds/${id}/status`],
      ["GET", `/volumes/${id}`],
      ["DELETE", `/volumes/${id}`],
    ];
    for (const [method, path] of routes) {
      const answer = await raw(
        `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${control.platform.info.apiKey}\r\nContent-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{"timeout":1}`,
      );
      expect([400, 404, 405]).toContain(statuses(answer)[0]);
      expect(answer.toLowerCase()).not.toContain("\r\nset-cookie");
      expect(answer).not.toContain("root:x:0");
    }
  });

  it.each(TRAVERSALS)("%s as the sandbox of a header or a host name reaches none", async (id) => {
    for (const headers of [
      `Host: localhost\r\nE2b-Sandbox-Id: ${id}\r\nE2b-Sandbox-Port: 49983\r\n`,
      `Host: 49983-${id}.localhost\r\n`,
      `Host: ${id}-${sandbox.sandboxID}.localhost\r\n`,
    ]) {
      // A name that is no sandbox's is the platform's own, which has no such route.
      const [status] = statuses(await raw(`GET /envs HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`));
      expect([400, 403, 404, 431, 502]).toContain(status);
    }
  });

  it.each([
    "/init",
    "//init",
    "/./init",
    "/x/../init",
    "/%69nit",
    "/%2569nit",
    "/init/",
    "/init?x",
    "/init;x",
    "/INIT",
    "/%2e/init",
    "/files/../init",
    "/%2finit",
    "\\init",
    "/init%00",
    "/init%20",
    "http://localhost/init",
  ])("the daemon's own call %j is not reached from outside", async (target) => {
    const body = JSON.stringify({ accessToken: "stolen", sandboxId: sandbox.sandboxID, templateId: "x", envVars: {} });
    const answer = await raw(
      `POST ${target} HTTP/1.1\r\n${toSandbox()}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect(statuses(answer)[0]).not.toBe(204);
    expect(await ownStatus()).toBe(200);
  });
});

describe("signatures of file URLs", () => {
  const signed = (values: Record<string, string>) => fetch(`${control.url}/files?${new URLSearchParams({ username: "root", ...values })}`);
  const sign = (path: string, operation: "read" | "write", expiresAtSeconds?: number, token = sandbox.envdAccessToken) =>
    signFileUrl({ path, operation, username: "root", expiresAtSeconds }, token);
  const soon = () => Math.floor(Date.now() / 1000) + 60;

  beforeAll(async () => {
    const response = await control.edge(sandbox, "/files?path=/tmp/signed-test&username=root", {
      method: "POST",
      body: "content",
      headers: { "content-type": "application/octet-stream" },
    });
    expect(response.status).toBe(200);
  });

  it("one that is right works, and again until it expires", async () => {
    const signature = await sign("/tmp/signed-test", "read");
    for (let round = 0; round < 2; round++) expect(await (await signed({ path: "/tmp/signed-test", signature })).text()).toBe("content");
  });

  it("one for another path, operation, user, time or sandbox, or a forged one, opens nothing", async () => {
    const other = (await control.create()) as typeof sandbox;
    const expiry = soon();
    const right = await sign("/tmp/signed-test", "read", expiry);
    const attempts: Record<string, string>[] = [
      { path: "/tmp/other", signature: right, signature_expiration: String(expiry) },
      { path: "/tmp/signed-test", signature: right },
      { path: "/tmp/signed-test", signature: right, signature_expiration: String(expiry + 1) },
      { path: "/tmp/signed-test", signature: right, signature_expiration: String(expiry), username: "nobody" },
      { path: "/tmp/../tmp/signed-test", signature: right, signature_expiration: String(expiry) },
      { path: "/tmp/signed-test", signature: await sign("/tmp/signed-test", "write", expiry), signature_expiration: String(expiry) },
      { path: "/tmp/signed-test", signature: await sign("/tmp/signed-test", "read", 1), signature_expiration: "1" },
      { path: "/tmp/signed-test", signature: await sign("/tmp/signed-test", "read", -1), signature_expiration: "-1" },
      { path: "/tmp/signed-test", signature: await sign("/tmp/signed-test", "read", expiry, "x"), signature_expiration: String(expiry) },
      {
        path: "/tmp/signed-test",
        signature: `v1_${createHmac("sha256", "").update("x").digest("base64")}`,
        signature_expiration: String(expiry),
      },
      { path: "/tmp/signed-test", signature: "" },
      { path: "/tmp/signed-test", signature: "v1_" },
    ];
    for (const values of attempts) {
      const response = await signed(values);
      expect({ values, status: response.status }).toMatchObject({ status: expect.toSatisfy((status: number) => status >= 400) });
      expect(await response.text()).not.toContain("content");
    }
    // A signature of one sandbox, sent to another.
    const replayed = await control.edge(
      { sandboxID: other.sandboxID },
      `/files?${new URLSearchParams({ path: "/tmp/signed-test", signature: right, signature_expiration: String(expiry) })}`,
    );
    expect(replayed.status).toBe(401);
    await control.api("DELETE", `/sandboxes/${other.sandboxID}`);
  });
});
