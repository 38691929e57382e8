import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
beforeAll(async () => {
  control = await startTestControl();
});
afterAll(() => control.stop());

/** Send bytes as they are and read until the server closes. */
function sendRaw(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(control.platform.info.port, "127.0.0.1", () => socket.write(bytes));
    socket.setEncoding("utf8").on("data", (text: string) => {
      answer += text;
    });
    socket.on("error", reject).on("close", () => resolve(answer));
  });
}

async function expectEnvelope(response: Response, status: number, reason?: string): Promise<void> {
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  const body = (await response.json()) as object;
  expect(body).toMatchObject({ code: status, message: expect.any(String), ...(reason === undefined ? {} : { error_code: reason }) });
  expect(response.status).toBe(status);
}

describe("error envelope", () => {
  it("LIF-18: unknown route, wrong method, bad bodies", async () => {
    await expectEnvelope(await control.api("GET", "/nothing/here"), 404, "not_found");
    await expectEnvelope(await control.api("GET", "/"), 404);
    await expectEnvelope(await control.api("GET", "/sandboxes/a%2Fb/connect"), 405);
    const put = await control.api("PUT", "/v2/sandboxes", {});
    expect(put.headers.get("allow")).toBe("GET, POST");
    await expectEnvelope(put, 405, "method_not_allowed");
    await expectEnvelope(await control.api("POST", "/v2/sandboxes", "{"), 400);
    await expectEnvelope(await control.api("POST", "/v2/sandboxes", "[]"), 400);
    await expectEnvelope(await control.api("POST", "/v2/sandboxes", "null"), 400);
    await expectEnvelope(await control.api("POST", "/v2/sandboxes"), 400);
    await expectEnvelope(await control.api("POST", "/v2/sandboxes", "a=b", { "content-type": "application/x-www-form-urlencoded" }), 415);
    await expectEnvelope(await control.api("GET", "/sandboxes/%E0%A4%A"), 400);
  });

  it("LIF-18: a body of 10 MB is refused, with a length and chunked", async () => {
    const big = JSON.stringify({ templateID: "base", metadata: { a: "x".repeat(10 * 1024 * 1024) } });
    const refusal = await control.api("POST", "/v2/sandboxes", big).catch((error: Error) => error);
    // A client that still writes may see the reset before the answer.
    if (refusal instanceof Response) await expectEnvelope(refusal, 413, "payload_too_large");
    const head = `POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${control.platform.info.apiKey}\r\nContent-Type: application/json\r\n`;
    expect(await sendRaw(`${head}Content-Length: 10485760\r\n\r\n`)).toMatch(/^HTTP\/1.1 413 [\s\S]*"error_code":"payload_too_large"/);
    const chunk = `10000\r\n${"x".repeat(65536)}\r\n`;
    expect(await sendRaw(`${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}`)).toMatch(/^HTTP\/1.1 413 /);
    expect((await control.api("GET", "/v2/sandboxes")).status).toBe(200);
  });

  it("malformed HTTP, too large heads, unknown expectations and CONNECT get JSON too", async () => {
    expect(await sendRaw("GET /health HTTP/1.1\r\nHost: localhost\r\nExpect: magic\r\n\r\n")).toMatch(/^HTTP\/1.1 417 [\s\S]*"code":417/);
    expect(await sendRaw("nonsense\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":400/);
    expect(await sendRaw(`GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${"a".repeat(100_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431 [\s\S]*"code":431/,
    );
    expect(await sendRaw("CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n")).toMatch(/^HTTP\/1.1 405 [\s\S]*"code":405/);
    expect(await sendRaw("GET http://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n")).toMatch(/^HTTP\/1.1 400 [\s\S]*"code":400/);
    expect(
      await sendRaw("POST /v2/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ).toMatch(/^HTTP\/1.1 400 /);
  });

  it("an answer has an id for the log", async () => {
    expect((await control.api("GET", "/v2/sandboxes")).headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("authentication", () => {
  it("refuses a missing and a wrong key on every operation and says so", async () => {
    const { apiKey } = control.platform.info;
    for (const key of ["", "e2b_0", apiKey.toUpperCase(), `${apiKey}0`, apiKey.slice(0, -1)]) {
      const headers: Record<string, string> = key === "" ? {} : { "x-api-key": key };
      for (const [method, path] of [
        ["GET", "/v2/sandboxes"],
        ["POST", "/v2/sandboxes"],
        ["POST", "/sandboxes"],
        ["GET", "/sandboxes/abc"],
        ["DELETE", "/sandboxes/abc"],
        ["POST", "/sandboxes/abc/timeout"],
        ["POST", "/sandboxes/abc/connect"],
        ["POST", "/v2/sandboxes/abc/connect"],
        ["POST", "/sandboxes/abc/refreshes"],
      ] as const) {
        await expectEnvelope(await fetch(control.url + path, { method, headers }), 401, "authentication");
      }
    }
  });

  it("takes the key as a bearer too; health needs none", async () => {
    const { apiKey } = control.platform.info;
    expect((await fetch(`${control.url}/v2/sandboxes`, { headers: { authorization: `Bearer ${apiKey}` } })).status).toBe(200);
    const health = await fetch(`${control.url}/health`);
    expect([health.status, health.headers.get("cache-control")]).toEqual([204, "no-store"]);
    expect((await fetch(`${control.url}/health`, { method: "HEAD" })).status).toBe(204);
  });

  it("AUT-07: never writes a key, a token or a variable to the log", async () => {
    const sandbox = await control.create({ envVars: { SECRET: "hidden-value" } });
    await control.api("DELETE", `/sandboxes/${sandbox.sandboxID}`);
    const text = control.log.join("");
    for (const secret of [control.platform.info.apiKey, sandbox.envdAccessToken as string, "hidden-value"])
      expect(text).not.toContain(secret);
    for (const line of control.log) JSON.parse(line);
  });
});

describe("origins and hosts", () => {
  it("any page may read answers, and ask before it sends a key", async () => {
    const preflight = await fetch(`${control.url}/v2/sandboxes`, {
      method: "OPTIONS",
      headers: {
        origin: "https://example.com",
        "access-control-request-method": "POST",
        "access-control-request-headers": "x-api-key,lang",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("*");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("x-api-key,lang");
    const list = await control.api("GET", "/v2/sandboxes");
    expect(list.headers.get("access-control-expose-headers")).toContain("X-Next-Token");
  });

  it("a foreign host name is refused, so no page can rebind one to this machine", async () => {
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost@evil.example", ""]) {
      const answer = await sendRaw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, answer.slice(0, 12)]).toEqual([host, host === "" || host.includes("@") ? "HTTP/1.1 400" : "HTTP/1.1 403"]);
    }
    for (const host of ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:80", "10.1.2.3", "api.localhost", "localhost."]) {
      const answer = await sendRaw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, answer.slice(0, 12)]).toEqual([host, "HTTP/1.1 204"]);
    }
  });
});
