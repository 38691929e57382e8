import { createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type EgressPath, listenOn, openEgressPath, openSocket } from "./support/egress-path.js";

const TARGET = "127.0.0.10";
/** So short that a test need not wait, so long that a busy machine does not count as a slow guest. */
const TIMEOUTS = { headMs: 1_000, idleMs: 2_000 };

let path: EgressPath;
let server: Server;
let port: number;
/** What the host outside does with a connection. */
let behave: (socket: Socket) => void;
const outside = new Set<Socket>();

beforeEach(async () => {
  server = createServer((socket) => {
    outside.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => outside.delete(socket));
    socket.on("data", () => behave(socket));
  });
  port = await listenOn(server, TARGET);
  path = await openEgressPath({ allowInternetAccess: undefined, network: { allowOut: [TARGET] } }, { timeouts: TIMEOUTS });
  behave = (socket) => void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
});
afterEach(async () => {
  await path.stop();
  for (const socket of outside) socket.destroy();
  server.close();
});

/** Send a text a few bytes at a time for as long as the connection is open. */
async function drip(socket: Socket, text: string): Promise<void> {
  socket.on("error", () => undefined);
  for (let at = 0; !socket.destroyed; at = (at + 1) % text.length) {
    socket.write(text[at] ?? "");
    await sleep(50);
  }
}

/** Resolves to what a connection got once it is over. */
function collect(socket: Socket): Promise<string> {
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  socket.on("end", () => socket.destroy());
  return new Promise((resolve) => socket.once("close", () => resolve(text)));
}

const request = (): string => `GET http://${TARGET}:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;
const endless = "X-Part: y\r\n";

describe("what comes slowly", () => {
  it.each([
    ["the head of a request", (): string => "GET / HTTP/1.1\r\n", "http"],
    ["the head of a second request on the same connection", (): string => `${request()}GET / HTTP/1.1\r\n`, "http"],
    ["a SOCKS handshake", (): string => "\x05\xff", "socks"],
  ] as const)("%s is cut off in time", async (_what, begin, kind) => {
    const socket = await openSocket(kind === "http" ? path.httpPort : path.socksPort);
    const got = collect(socket);
    socket.write(begin(), "latin1");
    const beganAt = performance.now();
    await Promise.all([got, drip(socket, kind === "http" ? endless : "\0")]);
    expect(performance.now() - beganAt).toBeGreaterThan(TIMEOUTS.headMs / 2);
  });

  it("many slow heads at once are all cut, and others are served meanwhile and afterwards", async () => {
    const slow = await Promise.all(Array.from({ length: 200 }, () => openSocket(path.httpPort)));
    const ends = slow.map((socket) => {
      socket.write("GET ");
      return collect(socket);
    });
    const works = async (): Promise<string> => {
      const socket = await openSocket(path.httpPort);
      const got = collect(socket);
      socket.write(request().replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
      return got;
    };
    expect(await works()).toMatch(/ok$/);
    await Promise.all(ends);
    expect(await works()).toMatch(/ok$/);
  });

  it.each([
    ["the head of an answer", "HTTP/1.1 200 OK\r\n", endless],
    ["interim answers and no other", "", "HTTP/1.1 102 Processing\r\n\r\n"],
  ])("%s of the host outside are given up, and the guest is told", async (_what, begin, more) => {
    behave = (socket) => {
      socket.write(begin);
      void drip(socket, more);
    };
    const socket = await openSocket(path.httpPort);
    const got = collect(socket);
    socket.write(request());
    expect(await got).toMatch(/^HTTP\/1\.1 504 /);
    await expect.poll(() => outside.size).toBe(0);
  });

  it("a body that comes slowly is passed on for as long as it comes, and given up when it stops", async () => {
    behave = (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
      void (async () => {
        // Longer than any of the bounds, byte by byte.
        const until = performance.now() + TIMEOUTS.idleMs * 1.5;
        while (performance.now() < until && !socket.destroyed) {
          socket.write("x");
          await sleep(100);
        }
      })();
    };
    const socket = await openSocket(path.httpPort);
    const got = collect(socket);
    const beganAt = performance.now();
    socket.write(request());
    const [head = "", body = ""] = (await got).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 200 /);
    expect(body.length).toBeGreaterThan(20);
    expect(performance.now() - beganAt).toBeGreaterThan(TIMEOUTS.idleMs * 1.5);
    await expect.poll(() => outside.size).toBe(0);
  });
});
