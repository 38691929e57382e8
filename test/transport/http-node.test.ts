import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { ConnectionError } from "../../src/errors/error-classes.js";
import { readErrorText } from "../../src/transport/http.js";
import { createNodeHttpClient } from "../../src/transport/http-node.js";
import { openWireServer, sendJson } from "./support/wire-server.js";

const GET = { method: "GET", headers: {}, isIdempotent: true } as const;

describe("the HTTP client of Node", () => {
  it("keeps connections and uses them again", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 200, { ok: true }));
    const http = createNodeHttpClient({});
    for (let i = 0; i < 20; i += 1) await (await http({ ...GET, url: server.url })).bytes();
    expect(server.connectionCount()).toBe(1);
  });

  it("NET-05: an idempotent request that a closing connection loses is sent again, another is not", async () => {
    let count = 0;
    const server = createTcpServer((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => {
        count += 1;
        if (count % 2 === 0) socket.destroy();
        else socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const http = createNodeHttpClient({});
    for (let i = 0; i < 5; i += 1) expect((await (await http({ ...GET, url })).bytes()).length).toBe(2);
    const other = createNodeHttpClient({});
    count = 0;
    await (await other({ method: "POST", headers: {}, url, body: "x" })).bytes();
    await expect(other({ method: "POST", headers: {}, url, body: "x" })).rejects.toBeInstanceOf(ConnectionError);
    server.close();
  });

  it("NET-01: a connection that the server gives up while it is idle costs no call and crashes nothing", async () => {
    const crashes: unknown[] = [];
    const onCrash = (error: unknown) => void crashes.push(error);
    process.on("uncaughtException", onCrash).on("unhandledRejection", onCrash);
    const sockets = new Set<Socket>();
    const server = createServer((_req, res) => sendJson(res, 200, { ok: true }));
    server.on("connection", (socket) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket)).on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const http = createNodeHttpClient({});
    for (let round = 0; round < 200; round += 1) {
      expect((await (await http({ ...GET, url })).bytes()).length).toBeGreaterThan(0);
      for (const socket of sockets) round % 2 === 0 ? socket.end() : socket.resetAndDestroy();
    }
    server.close();
    process.off("uncaughtException", onCrash).off("unhandledRejection", onCrash);
    expect(crashes).toEqual([]);
  });

  it.each(["end", "resetAndDestroy"] as const)(
    "NET-02: after %s of every connection what runs fails once, and the next calls get new ones",
    async (way) => {
      const sockets = new Set<Socket>();
      const server = createServer((req, res) =>
        req.url === "/stream" ? void res.writeHead(200).write("x") : sendJson(res, 200, { ok: true }),
      );
      server.on("connection", (socket) => {
        sockets.add(socket);
        socket.on("close", () => sockets.delete(socket)).on("error", () => {});
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const http = createNodeHttpClient({});
      const streams = await Promise.all([1, 2, 3].map(() => http({ ...GET, url: `${url}/stream` })));
      const outcomes = Promise.allSettled(streams.map((stream) => stream.bytes()));
      for (const socket of sockets) socket[way]();
      for (const outcome of await outcomes) {
        expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(ConnectionError) });
      }
      for (let round = 0; round < 5; round += 1) expect((await (await http({ ...GET, url })).bytes()).length).toBeGreaterThan(0);
      server.close();
    },
  );

  it("rejects with the abort reason before, while waiting and while reading, and closes the connection", async () => {
    await using server = await openWireServer((req, res) => {
      if (req.url === "/body") res.writeHead(200).write("x");
    });
    const http = createNodeHttpClient({});
    const reason = { my: "reason" };
    await expect(http({ ...GET, url: server.url, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const waiting = new AbortController();
    const pending = http({ ...GET, url: server.url, signal: waiting.signal });
    setTimeout(() => waiting.abort(reason), 20);
    await expect(pending).rejects.toBe(reason);
    const reading = new AbortController();
    const response = await http({ ...GET, url: `${server.url}/body`, signal: reading.signal });
    setTimeout(() => reading.abort(reason), 20);
    await expect(response.bytes()).rejects.toBe(reason);
    await expect.poll(() => server.openConnections()).toBe(0);
  });

  it("an answer before the end of an upload ends the upload", async () => {
    const server = createServer((_req, res) => sendJson(res, 413, { code: 413 }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    let produced = 0;
    async function* endless() {
      for (;;) {
        produced += 1;
        yield new Uint8Array(65_536);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    const response = await createNodeHttpClient({})({ method: "POST", url, headers: {}, body: endless() });
    expect(response.status).toBe(413);
    await response.bytes();
    const after = produced;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(produced).toBeLessThanOrEqual(after + 1);
    server.closeAllConnections();
    server.close();
  });

  it("a refused connection and an unknown host are typed errors that name the peer", async () => {
    const http = createNodeHttpClient({});
    await expect(http({ ...GET, url: "http://127.0.0.1:1/" })).rejects.toMatchObject({
      name: "ConnectionError",
      message: expect.stringContaining("http://127.0.0.1:1"),
    });
  });

  it("reads at most 64 KiB of an error and closes the rest", async () => {
    await using server = await openWireServer((_req, res) => res.writeHead(500).end("x".repeat(20 << 20)));
    const response = await createNodeHttpClient({})({ ...GET, url: server.url });
    expect((await readErrorText(response)).length).toBe(65_536);
  });

  it("NET-08: with a proxy every connection is a tunnel with its credentials, and a refusal is a typed error", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 200, { ok: true }));
    const seen: string[] = [];
    const sockets = new Set<Socket>();
    const proxy = createServer().on("connect", (req, socket, head) => {
      seen.push(`${req.url} ${req.headers["proxy-authorization"]}`);
      sockets.add(socket as Socket);
      if (req.headers["proxy-authorization"] === undefined) return void socket.end("HTTP/1.1 407 No\r\n\r\n");
      const [host, port] = (req.url ?? "").split(":");
      const upstream = connect(Number(port), host, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        upstream.write(head);
        upstream.pipe(socket).pipe(upstream);
      });
      upstream.on("error", () => {});
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const { port } = proxy.address() as AddressInfo;
    const http = createNodeHttpClient({ proxy: `http://us%20er:p@127.0.0.1:${port}` });
    for (let i = 0; i < 3; i += 1) expect((await (await http({ ...GET, url: server.url })).bytes()).length).toBeGreaterThan(0);
    expect(seen).toEqual([`${new URL(server.url).host} Basic ${Buffer.from("us er:p").toString("base64")}`]);
    expect(server.connectionCount()).toBe(1);
    await expect(createNodeHttpClient({ proxy: `http://127.0.0.1:${port}` })({ ...GET, url: server.url })).rejects.toThrow(/407/);
    await expect(createNodeHttpClient({ proxy: "http://127.0.0.1:1" })({ ...GET, url: server.url })).rejects.toBeInstanceOf(
      ConnectionError,
    );
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
});
