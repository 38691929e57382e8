import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type CreatedSandbox, startTestControl, type TestControl } from "../control/support/test-control.js";
import { type Behaviour, HostileDriver } from "./support/hostile-driver.js";

const MIB = 1024 * 1024;
const place = mkdtempSync(join(tmpdir(), "abx-hostile-"));
let driver: HostileDriver;
let control: TestControl;

beforeAll(async () => {
  driver = new HostileDriver(place);
  control = await startTestControl({}, driver);
});
afterAll(async () => {
  driver.closeAll();
  await control.stop();
  rmSync(place, { recursive: true, force: true });
});
afterEach(async () => {
  driver.initBehaviour = undefined;
  driver.healthBehaviour = undefined;
  // Whatever a daemon did, the platform answers everybody else at once.
  const beganAt = performance.now();
  expect((await control.api("GET", "/v2/sandboxes")).status).toBe(200);
  expect(performance.now() - beganAt).toBeLessThan(1_000);
});

/** Write again and again until the peer is gone; `write` pauses while the peer does not read. */
function flood(socket: Parameters<Behaviour>[0], text: string): void {
  const pour = () => {
    while (!socket.destroyed && socket.write(text)) {
      // As fast as it goes.
      if (socket.writableLength > MIB) break;
    }
    if (!socket.destroyed) setImmediate(pour);
  };
  pour();
}

/** Status of a request through the edge; 0 when the connection broke before or in the answer. */
function status(sandbox: CreatedSandbox, path: string, port = 49983, timeoutMs = 3_000): Promise<number> {
  const { hostname, port: tcpPort } = new URL(control.url);
  return new Promise((resolve) => {
    const headers = { "e2b-sandbox-id": sandbox.sandboxID, "e2b-sandbox-port": String(port), "x-access-token": "x" };
    const client = request({ host: hostname, port: tcpPort, path, headers, agent: false });
    const timer = setTimeout(() => client.destroy(), timeoutMs);
    const settle = (code: number) => {
      clearTimeout(timer);
      client.destroy();
      resolve(code);
    };
    client.on("error", () => settle(0));
    client.on("close", () => settle(0));
    client.on("response", (response) => {
      let size = 0;
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        // Nobody reads an endless answer for ever.
        if (size > 4 * MIB) settle(response.statusCode ?? 0);
      });
      response.on("end", () => settle(response.statusCode ?? 0));
      response.on("error", () => settle(0));
    });
    client.end();
  });
}

const ANSWERS: readonly [string, Behaviour][] = [
  ["nothing at all", () => undefined],
  ["an end at once", (socket) => socket.destroy()],
  ["half a status line", (socket) => socket.end("HTTP/1.1 20")],
  ["another protocol", (socket) => socket.end("SSH-2.0-OpenSSH\r\n\r\n")],
  ["binary noise", (socket) => socket.end(Buffer.alloc(10_000, 0xfe))],
  ["a status below 100", (socket) => socket.end("HTTP/1.1 099 Odd\r\ncontent-length: 0\r\n\r\n")],
  ["status 000", (socket) => socket.end("HTTP/1.1 000 \r\ncontent-length: 0\r\n\r\n")],
  ["status 999", (socket) => socket.end("HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n")],
  ["an unasked switch of protocols", (socket) => socket.write("HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nraw")],
  ["a header block of 10 MiB", (socket) => socket.end(`HTTP/1.1 200 OK\r\n${"x: y\r\n".repeat(1_700_000)}\r\n`)],
  ["headers without an end", (socket) => flood(socket.write("HTTP/1.1 200 OK\r\n") ? socket : socket, `x: ${"y".repeat(1_000)}\r\n`)],
  ["one header of 1 MiB", (socket) => socket.end(`HTTP/1.1 200 OK\r\nx: ${"y".repeat(MIB)}\r\n\r\n`)],
  ["a header with a control character", (socket) => socket.end("HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 0\r\n\r\n")],
  [
    "a header with high bytes",
    (socket) => socket.end(Buffer.from("HTTP/1.1 200 OK\r\nx: \xff\xfe\r\ncontent-length: 0\r\n\r\n", "latin1")),
  ],
  ["a status text with high bytes", (socket) => socket.end(Buffer.from("HTTP/1.1 200 \xff\xfe\r\ncontent-length: 0\r\n\r\n", "latin1"))],
  ["trailers announced for a body that has none", (socket) => socket.end("HTTP/1.1 200 OK\r\ntrailer: x\r\ncontent-length: 2\r\n\r\nhi")],
  ["trailers announced for no body", (socket) => socket.end("HTTP/1.1 204 No\r\ntrailer: x\r\n\r\n")],
  ["two lengths", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 5\r\n\r\nhello")],
  ["a negative length", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n")],
  ["a length and chunks", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n")],
  ["a body shorter than announced", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort")],
  ["a body longer than announced", (socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n${"x".repeat(100_000)}`)],
  ["a chunk size that is none", (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")],
  ["a chunk of 2^64", (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n10000000000000000\r\nx")],
  [
    "chunks without an end",
    (socket) => flood(socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n") ? socket : socket, "5\r\nhello\r\n"),
  ],
  [
    "a huge chunk extension",
    (socket) => socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;${"x".repeat(MIB)}\r\nhello\r\n0\r\n\r\n`),
  ],
  ["huge trailers", (socket) => socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n${"x: y\r\n".repeat(200_000)}\r\n`)],
  ["1xx answers without end", (socket) => flood(socket, "HTTP/1.1 102 Processing\r\n\r\n")],
  [
    "early hints that are no links",
    (socket) => socket.end("HTTP/1.1 103 Early\r\nlink: garbage\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
  ],
  ["early hints without end", (socket) => flood(socket, `HTTP/1.1 103 Early\r\nlink: </${"x".repeat(5_000)}>; rel=preload\r\n\r\n`)],
  ["several answers to one request", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".repeat(50))],
  ["an answer before the next request", (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n")],
];

describe("a daemon in the hands of a guest that answers", () => {
  let sandbox: CreatedSandbox;
  let bystander: CreatedSandbox;
  beforeEach(async () => {
    sandbox = await control.create();
    bystander = await control.create();
  });
  afterEach(async () => {
    // 404: one whose daemon could not be reached any more is gone already.
    for (const { sandboxID } of [sandbox, bystander]) {
      expect([204, 404]).toContain((await control.api("DELETE", `/sandboxes/${sandboxID}`)).status);
    }
  });

  it.each(ANSWERS)("%s harms nobody else: API, file reads, ports and upgrades", async (_what, behaviour) => {
    driver.behaviour = behaviour;
    const codes = await Promise.all([
      status(sandbox, "/any", 49983, 1_500),
      status(sandbox, "/files?path=/x", 49983, 1_500),
      // The tunnel opens, and the program behind it answers like this.
      status(sandbox, "/port", 8080, 1_500),
      upgrade(sandbox, 49983),
      upgrade(sandbox, 8080),
    ]);
    for (const code of codes) expect(code === 0 || code === 101 || (code >= 200 && code <= 999)).toBe(true);
    driver.behaviour = (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    expect(await status(bystander, "/any")).toBe(200);
    expect(await status(bystander, "/files?path=/x")).toBe(200);
  });

  it("an opened port like that harms nobody else", async () => {
    for (const [, behaviour] of ANSWERS) {
      driver.behaviour = (socket, head) => {
        if (head.startsWith("CONNECT ")) socket.write("HTTP/1.1 200 OK\r\n\r\n");
        else behaviour(socket, head);
      };
      await Promise.all([status(sandbox, "/port", 8080, 300), upgrade(sandbox, 8080, 300)]);
      expect((await control.api("GET", "/v2/sandboxes")).status).toBe(200);
    }
  });

  it("a tunnel that is never opened is given up", async () => {
    driver.behaviour = () => undefined;
    expect(await status(sandbox, "/", 8080, 20_000)).toBe(502);
  });

  it("connections that are cut at once, again and again, cost no processor time", async () => {
    driver.behaviour = () => undefined;
    const own = await control.create();
    driver.connections = 0;
    driver.healthBehaviour = (socket) => socket.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    driver.cutIdle();
    await sleep(1_000);
    // A connection that ends is opened again, at most some times a second.
    expect(driver.connections).toBeLessThan(200);
    await control.api("DELETE", `/sandboxes/${own.sandboxID}`);
    driver.keepIdle();
  });
});

describe("a daemon that answers its set-up", () => {
  it.each<[string, Behaviour]>([
    ["with a refusal", (socket) => socket.end("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")],
    ["with 10 MiB", (socket) => socket.end(`HTTP/1.1 500 No\r\ncontent-length: ${10 * MIB}\r\n\r\n${"x".repeat(10 * MIB)}`)],
    [
      "without an end",
      (socket) => flood(socket.write("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n") ? socket : socket, "5\r\nhello\r\n"),
    ],
    ["with noise", (socket) => socket.end(Buffer.alloc(100_000, 1))],
    ["by hanging up", (socket) => socket.destroy()],
    ["with a success and then noise", (socket) => socket.end(`HTTP/1.1 204 No\r\n\r\n${"x".repeat(100_000)}`)],
  ])("%s gets no sandbox, or one like any other", async (_how, behaviour) => {
    driver.initBehaviour = behaviour;
    const response = await control.api("POST", "/v2/sandboxes", { templateID: "base" });
    expect([201, 500, 504]).toContain(response.status);
    const body = (await response.json()) as { sandboxID?: string; message?: string };
    if (body.message !== undefined) expect(body.message.length).toBeLessThan(2_000);
    if (body.sandboxID !== undefined) await control.api("DELETE", `/sandboxes/${body.sandboxID}`);
  });
});

/** Ask for a WebSocket through the edge; resolves with the status, 0 when the connection ended without one. */
function upgrade(sandbox: CreatedSandbox, port: number, timeoutMs = 1_500): Promise<number> {
  const { hostname, port: tcpPort } = new URL(control.url);
  return new Promise((resolve) => {
    const socket = connect(Number(tcpPort), hostname);
    let text = "";
    const settle = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0));
    };
    const timer = setTimeout(settle, timeoutMs);
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text = (text + chunk).slice(0, 1_000);
    });
    socket.on("error", settle).on("close", settle);
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: ${hostname}\r\nE2b-Sandbox-Id: ${sandbox.sandboxID}\r\nE2b-Sandbox-Port: ${port}\r\n` +
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
  });
}
