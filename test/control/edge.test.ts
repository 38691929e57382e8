import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import WebSocket, { WebSocketServer } from "ws";
import { signFileUrl } from "../../src/shared/signed-url.js";
import { type CreatedSandbox, startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
let sandbox: CreatedSandbox;
beforeAll(async () => {
  control = await startTestControl();
  sandbox = await control.create();
});
afterAll(() => control.stop());

/** A request with a Host of its choice, which `fetch` does not allow. */
function ask(host: string, path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port: control.platform.info.port, path, headers: { host, ...headers } }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text.startsWith("{") ? JSON.parse(text) : {} }));
    });
    outgoing.on("error", reject).end();
  });
}

const idOf = ({ body }: { body: Record<string, unknown> }) => body.E2B_SANDBOX_ID;
const routing = (id: string, port: number | string = 49983) => ({ "e2b-sandbox-id": id, "e2b-sandbox-port": String(port) });

describe("routing", () => {
  it("NET-06: addresses and localhost use headers, a sandbox host name wins over headers, conflicts never reach another sandbox", async () => {
    const other = await control.create();
    const token = { "x-access-token": sandbox.envdAccessToken as string };
    const { port } = control.platform.info;
    for (const host of ["127.0.0.1", `127.0.0.1:${port}`, "[::1]", "192.168.1.7", "localhost", `localhost:${port}`, "sandbox.localhost"]) {
      expect([host, idOf(await ask(host, "/envs", { ...token, ...routing(sandbox.sandboxID) }))]).toEqual([host, sandbox.sandboxID]);
    }
    const own = `49983-${sandbox.sandboxID}.localhost:${port}`;
    expect(idOf(await ask(own, "/envs", token))).toBe(sandbox.sandboxID);
    expect(idOf(await ask(own.toUpperCase(), "/envs", token))).toBe(sandbox.sandboxID);
    // The other sandbox would refuse this token with 401.
    expect(idOf(await ask(own, "/envs", { ...token, ...routing(other.sandboxID, 1) }))).toBe(sandbox.sandboxID);
    expect((await ask(`49983-${other.sandboxID}.localhost`, "/envs", { ...token, ...routing(sandbox.sandboxID) })).status).toBe(401);
  });

  it("takes calls of the API about a sandbox for what they are, also with the headers of its daemon", async () => {
    const id = sandbox.sandboxID;
    const key = { "x-api-key": control.platform.info.apiKey };
    for (const path of [`/sandboxes/${id}`, `/sandboxes/${id}/metrics`, `/v2/sandboxes/${id}/logs`]) {
      expect([path, (await ask("localhost", path, { ...key, ...routing(id) })).status]).toEqual([path, 200]);
      expect([path, (await ask("localhost", path, routing(id))).status]).toEqual([path, 401]);
    }
    // A program in the sandbox may serve such a path: nobody listens on this port.
    expect((await ask("localhost", `/sandboxes/${id}`, { ...key, ...routing(id, 8080) })).status).toBe(502);
    expect((await ask(`49983-${id}.localhost`, `/sandboxes/${id}`, key)).status).toBe(401);
  });

  it("refuses half a pair, bad ports and bad ids with JSON", async () => {
    const id = sandbox.sandboxID;
    for (const headers of [
      { "e2b-sandbox-id": id },
      { "e2b-sandbox-port": "49983" },
      routing(id, 0),
      routing(id, 65536),
      routing(id, "49983x"),
      routing(id, ""),
      routing("../etc"),
      routing("A"),
      routing(`${id}, ${id}`),
    ]) {
      const answer = await ask("localhost", "/health", headers as Record<string, string>);
      expect([headers, answer.status, answer.body.code]).toEqual([headers, 400, 400]);
    }
    expect((await ask(`70000-${id}.localhost`, "/health")).status).toBe(400);
    expect((await ask("49983-.localhost", "/health")).status).toBe(400);
  });

  it("answers 502 in the words of the contract for what is not there", async () => {
    const unknown = await ask("localhost", "/health", routing("nonexistingsandbox"));
    expect(unknown).toMatchObject({
      status: 502,
      body: { sandboxId: "nonexistingsandbox", message: "The sandbox was not found", code: 502 },
    });
    const closed = await ask("localhost", "/", routing(sandbox.sandboxID, 1));
    expect(closed).toMatchObject({
      status: 502,
      body: { sandboxId: sandbox.sandboxID, message: "The sandbox is running but port is not open", port: 1, code: 502 },
    });
  });

  it("keeps internal paths of the daemon away, however they are written", async () => {
    for (const path of [
      "/init",
      "/init/",
      "//init",
      "/INIT",
      "/%69nit",
      "/%2569nit",
      "/a/../init",
      "/a/%2e%2e/init",
      "/./init",
      "/init?x=1",
      "/init%3Fx",
      "/init%2F",
      "/%2Finit",
      "/init;x=1",
      "/freeze",
      "/upgrade",
      "/%25%36%39nit",
      "/%zz/../init",
    ]) {
      const answer = await ask("localhost", path, { ...routing(sandbox.sandboxID), "x-access-token": sandbox.envdAccessToken as string });
      expect([path, answer.status, answer.body]).toEqual([path, 404, { message: "This path is not served", path, code: 404 }]);
    }
    expect((await ask("localhost", "/health", routing(sandbox.sandboxID))).status).toBe(204);
  });

  it("finds the sandbox of a signed file URL that comes without routing headers", async () => {
    await control.create();
    const token = sandbox.envdAccessToken as string;
    const signature = await signFileUrl({ path: "/nonexistent/x", operation: "read", username: "" }, token);
    const query = new URLSearchParams({ path: "/nonexistent/x", signature }).toString();
    // The platform's own API has no /files: a 404 of another wording would come from there.
    const answer = await ask("localhost", `/files?${query}`);
    expect(answer.body.message).not.toMatch(/no route/);
    expect((await ask("localhost", `/files?${query}x`)).body.message).toMatch(/no route/);
  });
});

describe("port proxy", () => {
  let server: Server;
  let port: number;
  let onRequest: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  beforeEach(async () => {
    server = createServer((incoming, outgoing) => onRequest(incoming, outgoing));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const through = (path: string, init: RequestInit = {}) => control.edge(sandbox, path, { ...init, port });

  it("NET-10: path, query, method, headers and bodies arrive as they were sent", async () => {
    onRequest = (incoming, outgoing) => {
      let body = "";
      incoming.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      incoming.on("end", () => {
        outgoing.writeHead(200, [
          ["Set-Cookie", "a=1"],
          ["Set-Cookie", "b=2"],
          ["X-Odd", "é"],
        ] as never);
        outgoing.end(JSON.stringify({ method: incoming.method, url: incoming.url, headers: incoming.headers, body }));
      });
    };
    const answer = await through("/a%2Fb?x=1&x=2", { method: "DELETE", body: "why", headers: { "x-mine": "1" } });
    expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await answer.json()).toMatchObject({
      method: "DELETE",
      url: "/a%2Fb?x=1&x=2",
      body: "why",
      headers: { "x-mine": "1", "content-length": "3", "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http" },
    });
    const empty = await through("/", { method: "POST" });
    expect(((await empty.json()) as { headers: object }).headers).toMatchObject({ "content-length": "0" });
  });

  it("NET-10: redirects, HEAD, 304, trailers, encodings and lengths pass unchanged, hop-by-hop headers do not", async () => {
    onRequest = (incoming, outgoing) => {
      if (incoming.url === "/redirect") outgoing.writeHead(302, { location: "http://elsewhere.example/" }).end();
      else if (incoming.url === "/head") outgoing.writeHead(200, { "content-length": "12345" }).end();
      else if (incoming.url === "/304") outgoing.writeHead(304, { etag: '"x"' }).end();
      else if (incoming.url === "/gzip") outgoing.writeHead(200, { "content-encoding": "x-own", "content-length": "3" }).end("abc");
      else {
        outgoing.writeHead(200, { trailer: "x-sum", connection: "keep-alive, x-hop", "x-hop": "1" });
        outgoing.write("part");
        outgoing.addTrailers({ "x-sum": "42" });
        outgoing.end(JSON.stringify(incoming.headers));
      }
    };
    const redirect = await through("/redirect");
    expect([redirect.status, redirect.headers.get("location")]).toEqual([302, "http://elsewhere.example/"]);
    const head = await through("/head", { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe("12345");
    expect((await through("/304")).status).toBe(304);
    const encoded = await through("/gzip");
    expect([encoded.headers.get("content-encoding"), encoded.headers.get("content-length")]).toEqual(["x-own", "3"]);

    const outgoing = request({
      host: "127.0.0.1",
      port: control.platform.info.port,
      path: "/trailers",
      headers: { ...routing(sandbox.sandboxID, port), connection: "close, x-mine", "x-mine": "1", te: "trailers", "x-kept": "1" },
    }).end();
    const [response] = (await once(outgoing, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    expect(response.headers).not.toHaveProperty("x-hop");
    expect(response.trailers).toEqual({ "x-sum": "42" });
    expect(text).toMatch(/^part/);
    const seen = JSON.parse(text.slice(4)) as object;
    expect(seen).toMatchObject({ "x-kept": "1" });
    expect(seen).not.toHaveProperty("x-mine");
    expect(seen).not.toHaveProperty("te");
  });

  it("STR-15: passes the head and each part on as soon as they are there", async () => {
    let finish = () => {};
    onRequest = (_incoming, outgoing) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      finish = () => {
        outgoing.write("data: 1\n\n");
      };
    };
    const answer = await through("/events");
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    finish();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("data: 1\n\n");
    await reader.cancel();
  });

  it("NET-10: 100 MB pass in both directions unchanged and unbuffered", async () => {
    const block = randomBytes(1024 * 1024);
    onRequest = async (incoming, outgoing) => {
      let size = 0;
      for await (const chunk of incoming) size += (chunk as Buffer).length;
      outgoing.writeHead(200, { "x-received": String(size), "content-length": String(100 * block.length) });
      for (let index = 0; index < 100; index++) if (!outgoing.write(block)) await once(outgoing, "drain");
      outgoing.end();
    };
    const upload = request({
      host: "127.0.0.1",
      port: control.platform.info.port,
      method: "POST",
      path: "/",
      headers: { ...routing(sandbox.sandboxID, port), "content-length": 100 * block.length },
    });
    for (let index = 0; index < 100; index++) if (!upload.write(block)) await once(upload, "drain");
    upload.end();
    const [response] = (await once(upload, "response")) as [IncomingMessage];
    expect(response.headers["x-received"]).toBe(String(100 * block.length));
    let size = 0;
    let isEqual = true;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const offset = size % block.length;
      const expected = block.subarray(offset, offset + chunk.length);
      isEqual &&= expected.equals(chunk.subarray(0, expected.length));
      size += chunk.length;
    }
    expect([size, isEqual]).toEqual([100 * block.length, true]);
  });

  const large = randomBytes(3 * 1024 * 1024);
  it.each([
    ["of known length", `HTTP/1.1 200 OK\r\nContent-Length: ${large.length}\r\n\r\n`, "", 200],
    ["that ends with the connection", "HTTP/1.1 200 OK\r\n\r\n", "", 200],
    ["of HTTP/1.0", "HTTP/1.0 200 OK\r\nServer: old\r\n\r\n", "", 200],
    [
      "in chunks with a trailer",
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${large.length.toString(16)}\r\n`,
      "\r\n0\r\nX: y\r\n\r\n",
      200,
    ],
    ["behind an interim one", `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: ${large.length}\r\n\r\n`, "", 404],
  ])("an answer %s arrives whole, also at a slow reader, and its request is sent once", async (_what, head, tail, status) => {
    let requests = 0;
    const raw = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        requests += 1;
        socket.write(head);
        socket.write(large);
        socket.end(tail);
      });
    });
    raw.listen(0, "127.0.0.1");
    await once(raw, "listening");
    try {
      const headers = routing(sandbox.sandboxID, (raw.address() as AddressInfo).port);
      const outgoing = request({ host: "127.0.0.1", port: control.platform.info.port, path: "/", headers });
      outgoing.end();
      const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
      expect(answer.statusCode).toBe(status);
      const chunks: Buffer[] = [];
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        // The first pieces wait, so that everything on the way fills up.
        if (chunks.length < 10) await new Promise((resolve) => setTimeout(resolve, 10));
        chunks.push(chunk);
      }
      expect(Buffer.concat(chunks).equals(large)).toBe(true);
      expect(requests).toBe(1);
    } finally {
      raw.close();
    }
  });

  it("an answer that the service breaks off breaks at the client too, never looks complete", async () => {
    onRequest = (_incoming, outgoing) => {
      outgoing.writeHead(200);
      outgoing.write("half");
      setImmediate(() => outgoing.socket?.destroy());
    };
    await expect(through("/").then((answer) => answer.text())).rejects.toThrow();
    onRequest = (_incoming, outgoing) => outgoing.socket?.destroy();
    const broken = await through("/");
    expect([broken.status, ((await broken.json()) as { code: number }).code]).toEqual([502, 502]);
  });

  it("a client that leaves is noticed by the service", async () => {
    const left = new Promise<void>((resolve) => {
      onRequest = (_incoming, outgoing) => {
        outgoing.on("close", resolve);
        outgoing.writeHead(200).flushHeaders();
      };
    });
    const leaving = new AbortController();
    await through("/", { signal: leaving.signal });
    leaving.abort();
    await left;
  });

  it("WebSockets pass in both directions, refusals too", async () => {
    const sockets = new WebSocketServer({ noServer: true });
    server.on("upgrade", (incoming, socket, head) => {
      if (incoming.url === "/no") socket.end("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
      else
        sockets.handleUpgrade(incoming, socket, head, (peer) =>
          peer.on("message", (data, isBinary) => peer.send(data, { binary: isBinary })),
        );
    });
    const url = `ws://127.0.0.1:${control.platform.info.port}`;
    const client = new WebSocket(`${url}/echo`, { headers: routing(sandbox.sandboxID, port) });
    await once(client, "open");
    const big = randomBytes(300_000);
    client.send(big);
    const [echo] = (await once(client, "message")) as [Buffer];
    expect(big.equals(echo)).toBe(true);
    client.close(1000);
    expect((await once(client, "close"))[0]).toBe(1000);
    const refused = new WebSocket(`${url}/no`, { headers: routing(sandbox.sandboxID, port) });
    const [error] = (await once(refused, "error")) as [Error];
    expect(error.message).toContain("403");
    const closed = new WebSocket(url, { headers: routing(sandbox.sandboxID, 1) });
    expect(((await once(closed, "error")) as [Error])[0].message).toContain("502");
  });

  it("an upgrade to the daemon opens no way to its internal paths", async () => {
    const socket = connect(control.platform.info.port, "127.0.0.1");
    const head = `Host: localhost\r\nE2b-Sandbox-Id: ${sandbox.sandboxID}\r\nE2b-Sandbox-Port: 49983\r\n`;
    socket.write(
      `GET /health HTTP/1.1\r\n${head}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nPOST /init HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`,
    );
    let text = "";
    for await (const chunk of socket.setEncoding("utf8")) text += chunk;
    expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  });
});

describe("death of a sandbox", () => {
  it("breaks what is under way abruptly and answers 502 at once", async () => {
    const victim = await control.create();
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const service = createServer((_incoming, outgoing) => {
      outgoing.writeHead(200);
      outgoing.write("begin");
      started();
    });
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    const answer = await control.edge(victim, "/", { port: (service.address() as AddressInfo).port });
    await running;
    const body = answer.text();
    const broken = expect(body).rejects.toThrow();
    const kill = control.api("DELETE", `/sandboxes/${victim.sandboxID}`);
    await broken;
    expect((await kill).status).toBe(204);
    expect((await control.edge(victim, "/health")).status).toBe(502);
    service.closeAllConnections();
    service.close();
  });

  it("NET-05: keep-alive connections survive pauses and serve many requests at once", async () => {
    for (let round = 0; round < 3; round++) {
      const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await control.edge(sandbox, "/health")).status));
      expect(new Set(statuses)).toEqual(new Set([204]));
    }
  });
});
