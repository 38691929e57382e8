import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { Sandbox } from "../../src/index.js";
import { type Answer, openWireServer, sendJson } from "./support/wire-server.js";

const SANDBOX = { sandboxID: "i1", templateID: "t1", clientID: "c", envdVersion: "0.6.13", envdAccessToken: "t" };

/** Answer with the head and half of the body, then break the connection. */
function sendHalf(res: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { "content-type": "application/json", "content-length": text.length });
  res.write(text.slice(0, text.length / 2), () => res.socket?.resetAndDestroy());
}

/** A sandbox on a server whose first answer to `path` is cut in its middle. */
async function openCutting(path: string, status: number, body: object) {
  let isCut = false;
  const answer: Answer = (req, res) => {
    if (!req.url?.startsWith(path)) return req.url === "/health" ? res.writeHead(204).end() : sendJson(res, 201, SANDBOX);
    if (isCut) return sendJson(res, status, body);
    isCut = true;
    return sendHalf(res, status, body);
  };
  const server = await openWireServer(answer);
  const sandbox = await Sandbox.create("base", { apiUrl: server.url, sandboxUrl: server.url, apiKey: "k" });
  return { server, sandbox, countCalls: () => server.requests.filter((line) => line.includes(path)).length };
}

const NOT_FOUND = { code: "not_found", message: "path '/nope' does not exist" };

it("a question is asked again when its answer breaks off in the middle, good news or bad", async () => {
  const listing = await openCutting("/filesystem.Filesystem/ListDir", 200, { entries: [] });
  await using _listing = listing.server;
  expect(await listing.sandbox.files.list("/")).toEqual([]);
  expect(listing.countCalls()).toBe(2);
  const missing = await openCutting("/filesystem.Filesystem/Stat", 404, NOT_FOUND);
  await using _missing = missing.server;
  expect(await missing.sandbox.files.exists("/nope")).toBe(false);
  expect(missing.countCalls()).toBe(2);
  const info = await openCutting("/sandboxes/i1", 200, {
    ...SANDBOX,
    state: "running",
    startedAt: "2026-01-01T00:00:00Z",
    endAt: "2026-01-01T00:00:00Z",
  });
  await using _info = info.server;
  expect((await info.sandbox.getInfo()).state).toBe("running");
  expect(info.countCalls()).toBe(2);
});

it("what must not happen twice fails as a broken connection, not as what half of the answer looks like", async () => {
  const { server, sandbox, countCalls } = await openCutting("/filesystem.Filesystem/MakeDir", 404, NOT_FOUND);
  await using _server = server;
  await expect(sandbox.files.makeDir("/a")).rejects.toMatchObject({ name: "ConnectionError", reason: "connection" });
  expect(countCalls()).toBe(1);
});

it("compressed content that is corrupt or short, or in a coding nobody asked for, is a protocol error and never content", async () => {
  const whole = gzipSync("content ".repeat(1000));
  const answers: [Record<string, string>, string | Uint8Array][] = [
    [{ "content-encoding": "gzip" }, "not compressed"],
    [{ "content-encoding": "gzip" }, whole.subarray(0, -5)],
    [{ "content-encoding": "br" }, "whatever"],
  ];
  await using server = await openWireServer((req, res) => {
    if (!req.url?.startsWith("/files")) return sendJson(res, 201, SANDBOX);
    const [headers, body] = answers[Number(new URL(req.url, "http://x").searchParams.get("path"))] as (typeof answers)[number]; // paths are indices
    return res.writeHead(200, headers).end(body);
  });
  const sandbox = await Sandbox.create("base", { apiUrl: server.url, sandboxUrl: server.url, apiKey: "k" });
  for (const path of Object.keys(answers)) {
    for (const gzip of [false, true]) {
      await expect(sandbox.files.read(path, { gzip })).rejects.toMatchObject({ name: "ProtocolError", reason: "protocol" });
      const drain = async () => {
        for await (const _ of await sandbox.files.read(path, { gzip, format: "stream" }));
      };
      await expect(drain()).rejects.toMatchObject({ name: "ProtocolError", reason: "protocol" });
    }
  }
});
