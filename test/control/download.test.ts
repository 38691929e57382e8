import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAnswerHead } from "../../src/control/edge/answer-head.js";
import { type CreatedSandbox, startTestControl, type TestControl } from "./support/test-control.js";

let control: TestControl;
let sandbox: CreatedSandbox;
const directory = mkdtempSync(join(tmpdir(), "abx-download-"));
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
beforeAll(async () => {
  control = await startTestControl();
  sandbox = await control.create();
});
afterAll(async () => {
  agent.destroy();
  await control.stop();
  rmSync(directory, { recursive: true, force: true });
});

function file(name: string, content: Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

async function get(path: string, headers: Record<string, string> = {}, target = sandbox): Promise<IncomingMessage> {
  const outgoing = request({
    host: "127.0.0.1",
    port: control.platform.info.port,
    agent,
    path: `/files?${new URLSearchParams({ path, username: "root" })}`,
    headers: {
      "e2b-sandbox-id": target.sandboxID,
      "e2b-sandbox-port": "49983",
      "x-access-token": target.envdAccessToken as string,
      ...headers,
    },
  }).end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  // A reset after the head is an error of the request as well as of its answer.
  outgoing.on("error", () => {});
  return response;
}

async function hashOf(response: IncomingMessage, pauseMs = 0): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of response as AsyncIterable<Buffer>) {
    hash.update(chunk);
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return hash.digest("hex");
}

const sha = (content: Buffer) => createHash("sha256").update(content).digest("hex");

describe("file download through the edge", () => {
  it.each([0, 1, 65_536, 262_144, 300_001, 40_000_000])(
    "FIL-06: %i bytes arrive unchanged, again and again on one connection",
    async (size) => {
      const content = randomBytes(size);
      const path = file(`size-${size}`, content);
      for (let round = 0; round < 3; round++) {
        const response = await get(path);
        expect([response.statusCode, response.headers["content-length"]]).toEqual([200, String(size)]);
        expect(await hashOf(response)).toBe(sha(content));
      }
    },
  );

  it("FIL-06: a slow reader gets every byte", async () => {
    const content = randomBytes(12_000_000);
    const response = await get(file("slow", content));
    expect(await hashOf(response, 2)).toBe(sha(content));
  });

  it("ranges, errors and encoded answers pass as the daemon gives them", async () => {
    const content = randomBytes(1_000);
    const path = file("ranged", content);
    const range = await get(path, { range: "bytes=10-19" });
    expect([range.statusCode, range.headers["content-length"]]).toEqual([206, "10"]);
    expect(await hashOf(range)).toBe(sha(content.subarray(10, 20)));
    const missing = await get(`${path}-missing`);
    expect(missing.statusCode).toBe(404);
    missing.resume();
    const refused = await get(path, { "x-access-token": "wrong" });
    expect(refused.statusCode).toBe(401);
    refused.resume();
    const encoded = await get(path, { "accept-encoding": "gzip" });
    expect([encoded.statusCode, encoded.headers["content-encoding"]]).toEqual([200, "gzip"]);
    encoded.resume();
  });

  it("many at once do not mix", async () => {
    const contents = Array.from({ length: 8 }, () => randomBytes(2_000_000));
    const hashes = await Promise.all(
      contents.map(async (content, index) => {
        const path = file(`many-${index}`, content);
        const response = await fetch(`${control.url}/files?${new URLSearchParams({ path, username: "root" })}`, {
          headers: {
            "e2b-sandbox-id": sandbox.sandboxID,
            "e2b-sandbox-port": "49983",
            "x-access-token": sandbox.envdAccessToken as string,
            "accept-encoding": "identity",
          },
        });
        return sha(Buffer.from(await response.arrayBuffer()));
      }),
    );
    expect(hashes).toEqual(contents.map(sha));
  });

  it("a kill in the middle breaks the download, and the body never looks complete", async () => {
    const victim = await control.create();
    const response = await get(file("victim", randomBytes(60_000_000)), {}, victim);
    await once(response, "readable");
    const broken = expect(hashOf(response)).rejects.toThrow();
    await control.api("DELETE", `/sandboxes/${victim.sandboxID}`);
    await broken;
  });
});

describe("head of an answer", () => {
  it("keeps spelling, order and repetitions, and drops what concerns the connection", () => {
    const head = parseAnswerHead(
      "HTTP/1.1 200 All right\r\nX-A: 1\r\nx-a:  2 \r\nContent-Length: 5\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5",
    );
    expect(head).toEqual({
      status: 200,
      statusText: "All right",
      headers: ["X-A", "1", "x-a", "2", "Content-Length", "5"],
      bodyBytes: 5,
      isChunked: false,
      isKeptAlive: true,
    });
  });

  it.each([
    "HTTP/1.0 200 OK",
    "HTTP/1.1 100 Continue",
    "HTTP/1.1 200 OK\r\nX : 1",
    "HTTP/1.1 200 OK\r\n folded: 1",
    "HTTP/1.1 200 OK\r\nA: b\nC: d",
    "HTTP/1.1 200 OK\r\nA: b\0",
    "HTTP/1.1 200 a\rb",
    "",
  ])("refuses %j", (text) => {
    expect(() => parseAnswerHead(text)).toThrow();
  });

  it.each([
    "Content-Length: 1\r\nContent-Length: 2",
    "Content-Length: -1",
    "Content-Length: 1e3",
    "Transfer-Encoding: chunked\r\nContent-Length: 3",
    "A: b",
  ])("takes no length from %j", (fields) => {
    expect(parseAnswerHead(`HTTP/1.1 200 OK\r\n${fields}`).bodyBytes).toBeUndefined();
  });
});
