import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { openParts } from "../sandbox/support/daemon-sandbox.js";

type Answer = (response: ServerResponse, body: string) => void;

let close: (() => void) | undefined;
afterEach(() => close?.());

/** The namespace `code` on a service that answers executions as the test says; the daemon's health is well. */
async function openCode(answer: Answer) {
  const requests: { readonly path: string; readonly port: string; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const port = String(request.headers["e2b-sandbox-port"]);
    if (port === "49983") {
      response.writeHead(204).end();
      return;
    }
    requests.push({ path: `${request.method} ${request.url}`, port, body });
    answer(response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  close = () => {
    server.close();
    server.closeAllConnections();
  };
  const { code } = await openParts(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { code, requests };
}

const lines = (...values: object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const END = { type: "end_of_execution" };

describe("the client of the code interpreter", () => {
  it("sends what is asked and nothing else, to the port of the interpreter", async () => {
    const { code, requests } = await openCode((response) => response.end(lines(END)));
    await code.run("1");
    await code.run("2", { context: "abc", envs: { A: "1", B: undefined } });
    await code.run("3", { language: "r" });
    expect(requests.map(({ port, path }) => `${port} ${path}`)).toEqual(new Array(3).fill("49999 POST /execute"));
    expect(requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { code: "1" },
      { code: "2", context_id: "abc", env_vars: { A: "1" } },
      { code: "3", language: "r" },
    ]);
  });

  it("passes over keepalives and lines of kinds to come", async () => {
    const count = { type: "number_of_executions", execution_count: 7 };
    const { code } = await openCode((response) => response.end(lines(count, { type: "keepalive" }, { type: "new", x: 1 }, END)));
    expect(await code.run("1")).toMatchObject({ executionCount: 7, results: [], stdout: "" });
  });

  it("gives every form of a result", async () => {
    const forms = {
      text: "t",
      html: "h",
      markdown: "m",
      svg: "s",
      png: "p",
      jpeg: "j",
      pdf: "d",
      latex: "l",
      json: { a: [1] },
      javascript: "x",
      data: { a: [1] },
      chart: { type: "unknown", title: null, elements: [] },
      extra: { "x/y": 1 },
    };
    const blank = { type: "result", is_main_result: false, chart: {}, extra: {} };
    const { code } = await openCode((response) => response.end(lines({ type: "result", is_main_result: true, ...forms }, blank, END)));
    const { results, text } = await code.run("1");
    expect(text).toBe("t");
    expect({ ...results[0] }).toEqual({ isMainResult: true, ...forms });
    expect(results[0]?.formats()).toEqual([...Object.keys(forms).filter((name) => name !== "extra"), "x/y"]);
    expect(results[1]?.chart).toBeUndefined();
  });

  it("an answer that ends without its last line is no complete execution", async () => {
    const { code } = await openCode((response) => response.end(lines({ type: "stdout", text: "a", timestamp: new Date().toISOString() })));
    await expect(code.run("1")).rejects.toMatchObject({
      name: "ConnectionError",
      message: expect.stringContaining("its end is unknown") as string,
    });
  });

  it("an answer that is cut is a connection error where the sandbox lives", async () => {
    const { code } = await openCode((response) => {
      response.write(lines({ type: "keepalive" }));
      setImmediate(() => response.socket?.resetAndDestroy());
    });
    await expect(code.run("1")).rejects.toMatchObject({ name: "ConnectionError" });
  });

  it("a line that is no JSON is a protocol error", async () => {
    const { code } = await openCode((response) => response.end("nonsense\n"));
    await expect(code.run("1")).rejects.toMatchObject({ name: "ProtocolError" });
  });

  it.each([
    [400, "context_id and language", "InvalidArgumentError"],
    [404, "Context x not found", "NotFoundError"],
    [500, "no kernel", "InternalError"],
  ])("status %i with text is a typed error that repeats it", async (status, text, name) => {
    const { code } = await openCode((response) => response.writeHead(status, { "content-type": "text/plain" }).end(text));
    await expect(code.run("1")).rejects.toMatchObject({ name, message: expect.stringContaining(text) as string });
  });

  it("a closed port names the template to use", async () => {
    const message = "The sandbox is running but port is not open";
    const { code } = await openCode((response) =>
      response.writeHead(502).end(JSON.stringify({ sandboxId: "itest", message, port: 49_999, code: 502 })),
    );
    await expect(code.listContexts()).rejects.toMatchObject({
      name: "TemplateError",
      message: expect.stringContaining('"code-interpreter-v1"') as string,
    });
  });

  it("a sandbox that is gone is told as one", async () => {
    const body = JSON.stringify({ sandboxId: "itest", message: "The sandbox was not found", code: 502, error_code: "sandbox_gone" });
    const { code } = await openCode((response) => response.writeHead(502).end(body));
    await expect(code.run("1")).rejects.toMatchObject({ name: "TimeoutError", timeout: "sandbox" });
  });

  it("context calls use ids as data", async () => {
    const { code, requests } = await openCode((response) => response.end("null"));
    await code.removeContext("../a b");
    await code.restartContext({ id: "x/y", language: "python", cwd: "/" });
    expect(requests.map(({ path }) => path)).toEqual(["DELETE /contexts/..%2Fa%20b", "POST /contexts/x%2Fy/restart"]);
    await expect(code.removeContext("")).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });
});
