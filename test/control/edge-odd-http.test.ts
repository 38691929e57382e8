import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CreatedSandbox, startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
let sandbox: CreatedSandbox;
beforeAll(async () => {
  control = await startTestControl();
  sandbox = await control.create();
});
afterAll(() => control.stop());

/** Send bytes to the platform and read until `isEnough` or its end; the text is latin1, one character for each byte. */
async function exchange(text: string, isEnough: (answer: string) => boolean = () => false): Promise<string> {
  const socket = connect(control.platform.info.port, "127.0.0.1").setEncoding("latin1");
  socket.write(text, "latin1");
  let answer = "";
  for await (const chunk of socket) {
    answer += chunk;
    if (isEnough(answer)) break;
  }
  return answer;
}

const headTo = (port: number, extra = "") =>
  `Host: localhost\r\nE2b-Sandbox-Id: ${sandbox.sandboxID}\r\nE2b-Sandbox-Port: ${port}\r\nX-Access-Token: ${sandbox.envdAccessToken}\r\n${extra}\r\n`;

/** A port whose program answers every connection with these bytes, once a request came. */
async function withRawPort(answer: string, use: (port: number) => Promise<void>): Promise<void> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.write(answer, "latin1"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    await use((server.address() as AddressInfo).port);
  } finally {
    server.close();
  }
}

describe("an offer of HTTP/2 in clear text, as some clients make it with their first request", () => {
  const OFFER = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n";
  const BODY = `{"path":"/"}`;
  const isAnswered = (answer: string) => answer.includes("\r\n\r\n");
  let service: Server;
  let port: number;
  beforeAll(async () => {
    service = createServer(async (request: IncomingMessage, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      response.end(`got ${Buffer.concat(chunks)} upgrade=${request.headers.upgrade} settings=${request.headers["http2-settings"]}`);
    });
    service.listen(0, "127.0.0.1");
    await once(service, "listening");
    port = (service.address() as AddressInfo).port;
  });
  afterAll(() => service.close());

  it("is passed over by the API, with a body and without", async () => {
    const key = `Host: localhost\r\nX-API-Key: ${control.platform.info.apiKey}\r\n`;
    expect(await exchange(`GET /v2/sandboxes HTTP/1.1\r\n${key}${OFFER}\r\n`, isAnswered)).toMatch(/^HTTP\/1.1 200 /);
    const body = `{"timeout":300}`;
    const post = `POST /sandboxes/${sandbox.sandboxID}/timeout HTTP/1.1\r\n${key}${OFFER}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    expect(await exchange(post, isAnswered)).toMatch(/^HTTP\/1.1 204 /);
  });

  it("is passed over on the way to the daemon and to ports, whose programs get the body", async () => {
    const toDaemon = `POST /filesystem.Filesystem/Stat HTTP/1.1\r\n${headTo(49983, `${OFFER}Authorization: Basic cm9vdDo=\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n`)}${BODY}`;
    expect(await exchange(toDaemon, isAnswered)).toMatch(/^HTTP\/1.1 200 /);
    const toPort = `POST / HTTP/1.1\r\n${headTo(port, `${OFFER}Content-Length: ${BODY.length}\r\n`)}${BODY}`;
    const isWhole = (answer: string) => answer.includes("settings=undefined");
    expect(await exchange(toPort, isWhole)).toContain(`got ${BODY} upgrade=undefined`);
    expect(await exchange(`GET / HTTP/1.1\r\n${headTo(port, OFFER)}`, isWhole)).toContain("got  upgrade=undefined");
  });
});

describe("answers of programs behind ports", () => {
  it.each(["GET", "POST"])("bytes above 127 in the head arrive as they were sent (%s)", async (method) => {
    const name = Buffer.from("é.txt", "utf8").toString("latin1");
    const head = `HTTP/1.1 200 Tr\xe8s bien\r\nContent-Disposition: attachment; filename="${name}"\r\nContent-Length: 2\r\n\r\n`;
    await withRawPort(`${head}ok`, async (port) => {
      const answer = await exchange(`${method} / HTTP/1.1\r\n${headTo(port)}`, (text) => text.endsWith("ok"));
      expect(answer).toContain(`filename="${name}"\r\n`);
      expect(answer).toMatch(/^HTTP\/1.1 200 Tr\xe8s bien\r\n/);
    });
  });

  it("the same of a head that comes long before its body", async () => {
    await withRawPort("HTTP/1.1 200 OK\r\nX-Name: \xe8\r\nTransfer-Encoding: chunked\r\n\r\n", async (port) => {
      const answer = await exchange(`POST / HTTP/1.1\r\n${headTo(port)}`, (text) => text.includes("\r\n\r\n"));
      expect(answer).toContain("X-Name: \xe8\r\n");
    });
  });

  it.each(["GET", "POST"])("a switch of protocols that nobody asked for is a broken answer, not silence (%s)", async (method) => {
    await withRawPort("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", async (port) => {
      expect(await exchange(`${method} / HTTP/1.1\r\n${headTo(port)}`)).toMatch(/^HTTP\/1.1 502 /);
    });
  });

  it.each(["GET", "POST"])("a head of 40 KiB passes and one of 70 KB does not (%s)", async (method) => {
    const answerWith = (bytes: number) => `HTTP/1.1 200 OK\r\nX-Big: ${"a".repeat(bytes)}\r\nContent-Length: 2\r\n\r\nok`;
    const ask = (port: number) => exchange(`${method} / HTTP/1.1\r\n${headTo(port)}`, (text) => text.endsWith("ok"));
    await withRawPort(answerWith(40 * 1024), async (port) => expect(await ask(port)).toMatch(/^HTTP\/1.1 200 /));
    await withRawPort(answerWith(70_000), async (port) => expect(await ask(port)).toMatch(/^HTTP\/1.1 502 /));
  });

  it.each(["GET", "POST"])("headers that Connection names stay on their connection (%s)", async (method) => {
    const head = "HTTP/1.1 200 OK\r\nConnection: X-Hop, close\r\nX-Hop: 1\r\nX-End: 2\r\nContent-Length: 2\r\n\r\n";
    await withRawPort(`${head}ok`, async (port) => {
      const answer = await exchange(`${method} / HTTP/1.1\r\n${headTo(port)}`, (text) => text.endsWith("ok"));
      expect(answer).toContain("X-End: 2");
      expect(answer).not.toContain("X-Hop");
    });
  });
});

it("requests that are sent without waiting for answers are all answered, in their order", async () => {
  const service = createServer((request, response) => response.end(`answer to ${request.url};`));
  service.listen(0, "127.0.0.1");
  await once(service, "listening");
  const { port } = service.address() as AddressInfo;
  const requests = ["/1", "/2", "/3", "/4"].map((path) => `GET ${path} HTTP/1.1\r\n${headTo(port)}`);
  const answers = await exchange(requests.join(""), (text) => text.includes("answer to /4;"));
  expect(answers.match(/answer to \/\d/g)).toEqual(["answer to /1", "answer to /2", "answer to /3", "answer to /4"]);
  service.close();
});
