import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateAuthority } from "../../src/control/egress/certificate-authority.js";
import { ChannelPool } from "../../src/control/egress/channel-pool.js";
import { type EgressPath, listenOn, openEgressPath, openSocket, readAll } from "./support/egress-path.js";

const TARGET = "127.0.0.7";
let path: EgressPath;
let port: number;
const seen: string[] = [];
const server = createHttpServer((request, response) => {
  seen.push(`${request.method} ${request.url} ${request.headers.host}`);
  request.resume();
  response.end("ok");
});

beforeAll(async () => {
  port = await listenOn(server, TARGET);
  path = await openEgressPath({ allowInternetAccess: undefined, network: { allowOut: [TARGET] } }, { resolve: async () => [TARGET] });
});

afterAll(async () => {
  await path.stop();
  server.closeAllConnections();
  server.close();
});

async function exchange(text: string | Buffer, target = path.httpPort): Promise<string> {
  const socket = await openSocket(target);
  const answer = readAll(socket);
  socket.end(text);
  return answer;
}

const works = async () =>
  (await exchange(`GET http://${TARGET}:${port}/alive HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)).endsWith("ok");

describe("a hostile guest", () => {
  it.each(
    [
      "CONNECT a b:443 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 127.0.0.7:80@127.0.0.1:80 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 127.0.0.7 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 127.0.0.7:0 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 127.0.0.7:99999 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT [::1 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT http://127.0.0.7:80/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 127.0.0.7:80\tx HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: 127.0.0.7\r\n\r\n",
      "GET https://127.0.0.7/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET http://user:pass@127.0.0.7/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET ftp://127.0.0.7/ HTTP/1.1\r\nHost: x\r\n\r\n",
      "POST http://127.0.0.7/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST http://127.0.0.7/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      `GET http://127.0.0.7/ HTTP/1.1\r\nHost: x\r\nX: ${"y".repeat(70_000)}\r\n\r\n`,
      "\x16\x03\x01\x02\x00\x01\x00",
      "\0\0\0\0",
    ].map((text) => [text.slice(0, 60), text] as const),
  )("is told that %j is no request", async (_title, text) => {
    const before = seen.length;
    const answer = await exchange(text);
    expect(answer === "" || /^HTTP\/1\.1 4\d\d /.test(answer), answer.slice(0, 200)).toBe(true);
    expect(seen.length).toBe(before);
    expect(await works()).toBe(true);
  });

  it("decides by the URL, whatever the Host header says, and sends the URL's host on", async () => {
    const before = seen.length;
    expect(await exchange(`GET http://10.0.0.1/ HTTP/1.1\r\nHost: ${TARGET}:${port}\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 403/,
    );
    expect(seen.length).toBe(before);
    await exchange(`GET http://${TARGET}:${port}/url HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n`);
    expect(seen.at(-1)).toBe(`GET /url ${TARGET}:${port}`);
  });

  it("cannot hide a second request behind the first", async () => {
    const before = seen.length;
    const answer = await exchange(
      `POST http://${TARGET}:${port}/one HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbodyGET http://10.0.0.1/two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    expect(seen.slice(before).map((line) => line.split(" ")[1])).toEqual(["/one"]);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 403"]);
  });

  it("gets nowhere with garbage in SOCKS", { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 80 }), async (bytes) => {
        const before = seen.length;
        await exchange(Buffer.concat([Buffer.from([5]), bytes]), path.socksPort);
        return seen.length === before;
      }),
      { numRuns: 100 },
    );
    expect(await works()).toBe(true);
  });

  it.each([
    ["SOCKS4", [4, 1, 0, 80, 127, 0, 0, 7, 0]],
    ["only passwords", [5, 1, 2]],
    ["BIND", [5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 7, 0, 80]],
    ["UDP", [5, 1, 0, 5, 3, 0, 1, 127, 0, 0, 7, 0, 80]],
    ["a name with NUL", [5, 1, 0, 5, 1, 0, 3, 3, 97, 0, 98, 0, 80]],
    ["a private address", [5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 80]],
    ["a mapped loopback address", [5, 1, 0, 5, 1, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 127, 0, 0, 1, 0, 80]],
  ])("is refused %s", async (_title, bytes) => {
    const before = seen.length;
    const answer = Buffer.from(await exchange(Buffer.from(bytes), path.socksPort), "latin1");
    expect(answer[3] ?? 255).not.toBe(0);
    expect(seen.length).toBe(before);
  });

  it("does not reach the platform with 10 000 silent connections, and costs nobody else a channel", { timeout: 60_000 }, async () => {
    const silent: Socket[] = [];
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        Array.from({ length: 500 }, async () => {
          const socket = connect({ port: path.httpPort, host: "127.0.0.1" });
          socket.on("error", () => undefined);
          await Promise.race([once(socket, "connect"), once(socket, "close")]);
          silent.push(socket);
        }),
      );
    }
    await expect.poll(() => silent.filter((socket) => !socket.destroyed).length, { timeout: 20_000 }).toBeLessThanOrEqual(1024);
    for (const socket of silent) socket.destroy();
    await expect.poll(works, { timeout: 20_000 }).toBe(true);
  });
});

describe("channels", () => {
  it("are bounded per sandbox and come back when one ends", async () => {
    const peers: Socket[] = [];
    const daemon = createServer((socket) => {
      peers.push(socket);
      socket.on("error", () => undefined);
      socket.write("x");
    });
    const daemonPort = await listenOn(daemon);
    const active: Socket[] = [];
    const pool = new ChannelPool({ open: () => openSocket(daemonPort), onActive: (channel) => active.push(channel) });
    await expect.poll(() => pool.activeCount, { timeout: 10_000 }).toBe(256);
    active[0]?.destroy();
    await expect.poll(() => active.length, { timeout: 10_000 }).toBe(257);
    expect(pool.activeCount).toBe(256);
    pool.close();
    for (const peer of peers) peer.destroy();
    daemon.close();
  });

  it("of a daemon that closes them at once are not opened in a loop", async () => {
    let opened = 0;
    const daemon = createServer((socket) => socket.destroy());
    const daemonPort = await listenOn(daemon);
    const pool = new ChannelPool({
      open: () => {
        opened++;
        return openSocket(daemonPort);
      },
      onActive: () => undefined,
    });
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(opened).toBeLessThan(20);
    pool.close();
    daemon.close();
  });
});

describe("certificate authorities", () => {
  it("differ between sandboxes and platforms", () => {
    const keyOf = (secret: number, id: string) => new CertificateAuthority(Buffer.alloc(32, secret), id).certificatePem.slice(200, 500);
    expect(new Set([keyOf(1, "a"), keyOf(1, "b"), keyOf(2, "a")]).size).toBe(3);
  });
});
