import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import type { EgressServiceParts } from "../../src/control/egress/egress-service.js";
import type { NetworkConfig } from "../../src/control/egress/network-config.js";
import { type EgressPath, listenOn, openEgressPath, openSocket, readAll } from "./support/egress-path.js";

const run = promisify(execFile);
const TARGET = "127.0.0.2";
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function openPath(network: NetworkConfig, parts?: Partial<EgressServiceParts>): Promise<EgressPath> {
  const path = await openEgressPath({ allowInternetAccess: undefined, network }, parts);
  cleanups.push(() => path.stop());
  return path;
}

async function serveHttp(host = TARGET): Promise<number> {
  const server = createHttpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method, url, headers } = request;
      response.end(JSON.stringify({ method, url, headers, size: Buffer.concat(chunks).length }));
    });
  });
  const port = await listenOn(server, host);
  cleanups.push(async () => {
    server.closeAllConnections();
    server.close();
  });
  return port;
}

async function serveRaw(onConnection: (socket: Socket) => void, host = TARGET): Promise<number> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  const port = await listenOn(server, host);
  cleanups.push(async () => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return port;
}

async function curl(path: EgressPath, ...args: string[]): Promise<string> {
  const { stdout } = await run("curl", ["-sS", "--max-time", "10", ...args], {
    env: { PATH: process.env.PATH, http_proxy: `http://127.0.0.1:${path.httpPort}`, https_proxy: `http://127.0.0.1:${path.httpPort}` },
  });
  return stdout;
}

/** Send bytes to the HTTP port and read until the end. */
async function exchange(path: EgressPath, text: string): Promise<string> {
  const socket = await openSocket(path.httpPort);
  const answer = readAll(socket);
  socket.write(text);
  return answer;
}

const lastEntry = (path: EgressPath) => path.service.accessLog("itest", 10).at(-1);

describe("the way out of a sandbox", () => {
  it("carries a plain request with its query, body and Host, and logs it without its path", async () => {
    const path = await openPath({ allowOut: [`${TARGET}/32`] });
    const port = await serveHttp();
    const answer = JSON.parse(await curl(path, "-d", "x".repeat(100_000), `http://${TARGET}:${port}/a%2Fb?secret=1`));
    expect(answer).toMatchObject({ method: "POST", url: "/a%2Fb?secret=1", size: 100_000 });
    expect(answer.headers.host).toBe(`${TARGET}:${port}`);
    expect(Object.keys(answer.headers)).not.toContain("proxy-connection");
    expect(lastEntry(path)).toMatchObject({ protocol: "http", method: "POST", host: TARGET, port, decision: "allowed", status: 200 });
    expect(JSON.stringify(path.service.accessLog("itest", 10))).not.toContain("secret");
  });

  it("tunnels CONNECT, with bytes that were sent behind it and an end in each direction of its own", async () => {
    const path = await openPath({ allowOut: [TARGET] });
    const port = await serveRaw((socket) => {
      // Answers only when the client has finished, as many small protocols do.
      const chunks: Buffer[] = [];
      socket.on("data", (chunk: Buffer) => chunks.push(chunk));
      socket.on("end", () => socket.end(`got ${Buffer.concat(chunks)}`));
    });
    const socket = await openSocket(path.httpPort);
    const answer = readAll(socket);
    socket.end(`CONNECT ${TARGET}:${port} HTTP/1.1\r\nHost: elsewhere\r\n\r\nearly bytes`);
    expect(await answer).toBe("HTTP/1.1 200 Connection Established\r\n\r\ngot early bytes");
    await expect.poll(() => lastEntry(path)?.durationMs).toBeDefined();
    expect(lastEntry(path)).toMatchObject({ protocol: "connect", decision: "allowed", address: TARGET, bytesReceived: 15 });
  });

  it("speaks SOCKS5 on both ports", async () => {
    const path = await openPath({ allowOut: [TARGET] });
    const port = await serveHttp();
    for (const proxyPort of [path.socksPort, path.httpPort]) {
      const answer = await curl(path, "--proxy", `socks5h://127.0.0.1:${proxyPort}`, `http://${TARGET}:${port}/s`);
      expect(JSON.parse(answer)).toMatchObject({ url: "/s" });
    }
    expect(lastEntry(path)).toMatchObject({ protocol: "socks5", decision: "allowed" });
  });

  it("refuses loopback, private and metadata addresses by default and says why", async () => {
    const path = await openPath({});
    const port = await serveHttp();
    for (const host of ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "localhost", "[::1]", "[::ffff:127.0.0.1]"]) {
      const answer = await exchange(path, `CONNECT ${host}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect(answer, host).toMatch(/^HTTP\/1.1 403 /);
      expect(answer, host).toMatch(/loopback/);
    }
    expect(await exchange(path, "CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(/403 [\s\S]*metadata/);
    expect(await curl(path, `http://${TARGET}:${port}/`)).toMatch(/not allowed for this sandbox/);
    expect(lastEntry(path)).toMatchObject({ decision: "denied", reason: expect.stringContaining("loopback") });
  });

  it("connects to the very address that was checked, whatever the name says a moment later", async () => {
    const port = await serveHttp();
    const answers = [[TARGET], ["127.0.0.1"]];
    let asked = 0;
    const resolve = async () => answers[Math.min(asked++, 1)] ?? [];
    const path = await openPath({ allowOut: [TARGET] }, { resolve });
    expect(JSON.parse(await curl(path, `http://rebind.example:${port}/first`))).toMatchObject({ url: "/first" });
    expect(lastEntry(path)).toMatchObject({ address: TARGET });
    expect(asked).toBe(1);
    expect(await exchange(path, `CONNECT rebind.example:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1.1 403/);
  });

  it("takes of several addresses only those that are allowed", async () => {
    const port = await serveHttp();
    const path = await openPath({ allowOut: [TARGET] }, { resolve: async () => ["127.0.0.1", "10.0.0.1", TARGET] });
    await curl(path, `http://mixed.example:${port}/`);
    expect(lastEntry(path)).toMatchObject({ decision: "allowed", address: TARGET });
  });

  it("does not reach a private address through a name that is allowed", async () => {
    const path = await openPath({ allowOut: ["*.example"], denyOut: ["0.0.0.0/0"] }, { resolve: async () => ["127.0.0.1"] });
    expect(await exchange(path, "CONNECT evil.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(/^HTTP\/1.1 403/);
  });

  it("refuses addresses of this machine's own interfaces", async () => {
    const own = { version: 4, value: 0xcb00_7105n } as const;
    const path = await openPath({}, { ownAddresses: () => [own] });
    expect(await exchange(path, "CONNECT 203.0.113.5:80 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(/an address of this machine/);
  });

  it("says 502 for what cannot be reached and for names without an address", async () => {
    const path = await openPath({ allowOut: [TARGET] }, { resolve: async () => [] });
    const port = await serveHttp();
    expect(await exchange(path, "CONNECT nowhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(/^HTTP\/1.1 502/);
    expect(await exchange(path, `CONNECT ${TARGET}:1 HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1.1 502[\s\S]*ECONNREFUSED/);
    expect(lastEntry(path)).toMatchObject({ decision: "failed" });
    expect(port).toBeGreaterThan(0);
  });

  it("cuts at once what an update does not allow any more, and keeps the rest", async () => {
    const path = await openPath({ allowOut: [TARGET, "127.0.0.3"] });
    const echo = (socket: Socket) => socket.pipe(socket);
    const [port, otherPort] = [await serveRaw(echo), await serveRaw(echo, "127.0.0.3")];
    const open = async (host: string, targetPort: number) => {
      const socket = await openSocket(path.httpPort);
      socket.write(`CONNECT ${host}:${targetPort} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await once(socket, "data");
      return socket;
    };
    const [cut, kept] = [await open(TARGET, port), await open("127.0.0.3", otherPort)];
    path.update({ allowInternetAccess: undefined, network: { allowOut: ["127.0.0.3"] } });
    cut.resume();
    await once(cut, "end");
    cut.destroy();
    kept.write("still here");
    expect(String((await once(kept, "data"))[0])).toBe("still here");
    kept.destroy();
  });

  it("is closed altogether while nothing is allowed, and opens again with an update", async () => {
    const path = await openPath({ allowOut: [TARGET] });
    const port = await serveHttp();
    path.update({ allowInternetAccess: false, network: {} });
    await expect
      .poll(() =>
        openSocket(path.httpPort).then(
          (socket) => socket.destroy() && "open",
          () => "closed",
        ),
      )
      .toBe("closed");
    expect(path.daemon.state.defaultVars.size).toBe(0);
    path.update({ allowInternetAccess: undefined, network: { allowOut: [TARGET] } });
    await expect.poll(() => curl(path, `http://${TARGET}:${port}/again`).catch(() => "")).toContain("/again");
  });

  it("opens hundreds of connections at once", async () => {
    const path = await openPath({ allowOut: [TARGET] });
    const port = await serveRaw((socket) => socket.end("hello"));
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => exchange(path, `CONNECT ${TARGET}:${port} HTTP/1.1\r\nHost: x\r\n\r\n`)),
    );
    expect(answers.every((answer) => answer.endsWith("hello"))).toBe(true);
  });
});
