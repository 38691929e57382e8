import { describe, expect, it } from "vitest";
import { type LogFacts, Sandbox } from "../../src/index.js";
import { openParts } from "../sandbox/support/daemon-sandbox.js";
import { openWireServer, sendJson } from "./support/wire-server.js";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly facts: LogFacts | undefined;
}

function record() {
  const lines: Line[] = [];
  const at = (level: string) => (message: string, facts?: LogFacts) => void lines.push({ level, message, facts });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

describe("a client's logger", () => {
  it("is told of each answer with operation, sandbox, status, time and the name that the server gave the request", async () => {
    const { lines, logger } = record();
    await using server = await openWireServer((_req, res) => sendJson(res, 200, { entry: { name: "x" } }, { "x-request-id": "r-1" }));
    await (await openParts(server.url, { isBinary: false, logger })).files.getInfo("x");
    const facts = { operation: "files.getInfo", sandboxId: "itest", method: "Stat", status: 200, requestId: "r-1" };
    expect(lines).toEqual([{ level: "info", message: "request", facts: { ...facts, durationMs: expect.any(Number) } }]);
  });

  it("is told once why a call failed, by its reason and not by its text", async () => {
    const { lines, logger } = record();
    await using server = await openWireServer((_req, res) =>
      sendJson(res, 404, { code: 404, message: "no private-name here" }, { "x-request-id": "r-2" }),
    );
    await expect(Sandbox.connect("i9", { apiUrl: server.url, apiKey: "k", logger })).rejects.toThrow("private-name");
    const facts = { operation: "sandbox.connect", sandboxId: "i9", reason: "sandbox_not_found", status: 404, requestId: "r-2" };
    expect(lines.filter(({ message }) => message === "request failed").at(-1)).toEqual({
      level: "error",
      message: "request failed",
      facts: { ...facts, durationMs: expect.any(Number) },
    });
    expect(JSON.stringify(lines)).not.toContain("private-name");
  });

  it("is told of failures without an answer and of aborts", async () => {
    const { lines, logger } = record();
    const options = { apiUrl: "http://127.0.0.1:9", apiKey: "k", retries: 0, logger };
    await expect(Sandbox.connect("i9", options)).rejects.toThrow();
    await expect(Sandbox.connect("i9", { ...options, signal: AbortSignal.abort(new Error("private-reason")) })).rejects.toThrow();
    expect(lines.map(({ facts }) => facts?.reason)).toEqual(["connection", "aborted"]);
    expect(JSON.stringify(lines)).not.toContain("private-reason");
  });
});
