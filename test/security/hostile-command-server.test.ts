import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import type { NamedCommands } from "../../src/sandbox/named-commands.js";
import { openPlatform, openSandboxParts } from "../../src/sandbox/open-sandbox.js";
import { deriveServerToken } from "../../src/shared/server-token.js";

const ACCESS_TOKEN = "access-token-of-the-daemon";

interface Guest extends AsyncDisposable {
  readonly named: NamedCommands;
  /** Requests to the port of the command server. */
  readonly requests: IncomingMessage[];
}

/** The client's named commands on a guest that answers as `handle` says; the daemon has no custom commands. */
async function openGuest(handle: (req: IncomingMessage, res: ServerResponse) => void, isHealthy = true): Promise<Guest> {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    req.resume();
    res.on("error", () => {});
    if (req.headers["e2b-sandbox-port"] === "9000") {
      requests.push(req);
      handle(req, res);
    } else if (req.url?.startsWith("/files")) {
      res.writeHead(404, { "content-type": "application/json" }).end('{"code":404,"message":"no such file"}');
    } else {
      res.writeHead(isHealthy ? 204 : 502).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const platform = await openPlatform({ apiUrl: baseUrl, sandboxUrl: baseUrl, apiKey: "key", retries: 0 });
  const { named } = openSandboxParts(platform, {
    sandboxId: "itest",
    templateId: "base",
    envdVersion: "0.6.13",
    accessToken: ACCESS_TOKEN,
    trafficAccessToken: "traffic",
    domain: undefined,
    isBinary: true,
    services: [],
  });
  return {
    named,
    requests,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const json = (status: number, body: unknown) => (_req: IncomingMessage, res: ServerResponse) =>
  void res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
const events = (text: string) => (_req: IncomingMessage, res: ServerResponse) =>
  void res.writeHead(200, { "content-type": "text/event-stream" }).end(text);

/** Send for ever, as long as somebody reads. */
function endless(head: string, piece: string, contentType: string) {
  return (_req: IncomingMessage, res: ServerResponse) => {
    res.writeHead(200, { "content-type": contentType });
    res.write(head);
    const more = () => {
      while (!res.destroyed && res.write(piece));
      if (!res.destroyed) res.once("drain", more);
    };
    more();
  };
}

describe("a hostile program behind the port of the command server", () => {
  it("never sees the access token of the sandbox", async () => {
    await using guest = await openGuest(json(200, { result: 1 }));
    await guest.named.run("x");
    const [request] = guest.requests;
    expect(JSON.stringify(request?.headers)).not.toContain(ACCESS_TOKEN);
    expect(request?.headers["x-access-token"]).toBe(await deriveServerToken(ACCESS_TOKEN));
    expect(request?.headers["e2b-traffic-access-token"]).toBe("traffic");
  });

  it.each([
    ["a result", endless('{"result":"', "x".repeat(65_536), "application/json")],
    ["a line of an event", endless("event: result\ndata: ", "x".repeat(65_536), "text/event-stream")],
    ["an event of many lines", endless("event: result\n", `data: ${"x".repeat(1_000)}\n`.repeat(64), "text/event-stream")],
  ])("cannot fill memory with %s that does not end", async (_what, handle) => {
    await using guest = await openGuest(handle);
    await expect(guest.named.run("x")).rejects.toMatchObject({ reason: "protocol" });
  });

  it("cannot fill memory with a list, or with an error", async () => {
    await using lists = await openGuest(endless('{"commands":["', "x".repeat(65_536), "application/json"));
    await expect(lists.named.list()).rejects.toMatchObject({ reason: "protocol" });
    await using fails = await openGuest((_req, res) => {
      res.writeHead(500, { "content-type": "application/json" });
      const more = () => {
        while (!res.destroyed && res.write("x".repeat(65_536)));
        if (!res.destroyed) res.once("drain", more);
      };
      more();
    });
    await expect(fails.named.run("x")).rejects.toMatchObject({ reason: "internal" });
    const names = Array.from({ length: 5_000 }, (_, index) => `${index}-${"x".repeat(300)}`);
    await using wordy = await openGuest(
      json(404, { error: "Unknown command", type: "ValueError", available: [...names.slice(0, 100), 7, null, {}] }),
    );
    const error = (await wordy.named.run("x").catch((cause: unknown) => cause)) as { available: string[]; message: string };
    expect(error.available).toHaveLength(100);
    expect(Math.max(...error.available.map((name) => name.length))).toBe(128);
  });

  it.each<[string, ReturnType<typeof events>]>([
    ["ends before the result", events('event: progress\ndata: {"data":1}\n\n')],
    ["cuts the result", events('event: result\ndata: {"result":1}\n')],
    ["has no events", events("")],
  ])("a stream that %s is no result", async (_what, handle) => {
    await using guest = await openGuest(handle);
    await expect(guest.named.run("x")).rejects.toMatchObject({ reason: "connection", isRetryable: false });
    expect(guest.requests).toHaveLength(1);
  });

  it.each([["[1]"], ["no json"], ["{}"], ['"text"']])("the answer %s is no result", async (text) => {
    await using guest = await openGuest((_req, res) => void res.writeHead(200, { "content-type": "application/json" }).end(text));
    await expect(guest.named.run("x")).rejects.toMatchObject({ reason: "protocol" });
    await expect(guest.named.list()).rejects.toMatchObject({ reason: "protocol" });
  });

  it("cannot pretend that the sandbox is gone", async () => {
    await using guest = await openGuest(json(500, { error: "gone", error_code: "sandbox_gone" }));
    await expect(guest.named.run("x")).rejects.toMatchObject({ reason: "internal" });
    await using status = await openGuest(json(502, { sandboxId: "itest", message: "The sandbox was not found", code: 502 }));
    await expect(status.named.run("x")).rejects.toMatchObject({ reason: "internal" });
    await using event = await openGuest(events('event: error\ndata: {"error":"gone","status":502,"error_code":"sandbox_gone"}\n\n'));
    await expect(event.named.run("x")).rejects.toMatchObject({ reason: "internal" });
  });

  it("what is malformed in a list is left out", async () => {
    await using guest = await openGuest(
      json(200, {
        commands: [
          null,
          1,
          {},
          { name: 3 },
          {
            name: "ok",
            args: [
              { name: "a", type: "evil" },
              { name: "b", type: "string", default: {} },
            ],
          },
          { name: "__proto__", args: "x" },
        ],
      }),
    );
    expect(await guest.named.list()).toEqual([
      {
        name: "ok",
        description: "",
        args: [{ name: "b", type: "string", required: false, default: null, description: "" }],
        source: "server",
        isShadowed: false,
      },
      { name: "__proto__", description: "", args: [], source: "server", isShadowed: false },
    ]);
  });
});

describe("other command servers", () => {
  it("of the Python runtime answer without events and without lists in their errors", async () => {
    await using result = await openGuest(json(200, { result: "Hello, Ada!" }));
    expect(await result.named.run("hello", { name: "Ada" })).toBe("Hello, Ada!");
    await using unknown = await openGuest(json(404, { error: "Unknown command 'helo'; available: count, hello", type: "ValueError" }));
    await expect(unknown.named.run("helo")).rejects.toMatchObject({ name: "CommandNotFoundError", available: ["count", "hello"] });
    await using bad = await openGuest((req, res) =>
      req.method === "GET"
        ? json(200, { commands: [{ name: "hello", args: [{ name: "name", type: "string", required: true }] }] })(req, res)
        : json(400, { error: "Missing required argument 'name'", type: "ValueError" })(req, res),
    );
    await expect(bad.named.run("hello")).rejects.toMatchObject({
      name: "CommandArgumentError",
      argument: "name",
      expected: [{ type: "string" }],
    });
    await expect(bad.named.run("other")).rejects.toMatchObject({
      name: "InvalidArgumentError",
      message: expect.stringContaining("'name'"),
    });
    await using failed = await openGuest(json(500, { error: "division by zero", type: "ZeroDivisionError" }));
    await expect(failed.named.run("hello")).rejects.toMatchObject({ name: "NamedCommandError", errorType: "ZeroDivisionError" });
    await using closed = await openGuest(json(401, { error: "unauthorized", type: "AuthError" }));
    await expect(closed.named.run("hello")).rejects.toMatchObject({
      reason: "authentication",
      message: expect.stringContaining("serverToken"),
    });
  });

  it("a broken connection is told apart from a sandbox that is gone", async () => {
    await using broken = await openGuest((req) => void req.socket.destroy());
    await expect(broken.named.run("x")).rejects.toMatchObject({ reason: "connection" });
    await using gone = await openGuest((req) => void req.socket.destroy(), false);
    await expect(gone.named.run("x")).rejects.toMatchObject({ reason: "sandbox_gone" });
    await using edge = await openGuest(json(502, { sandboxId: "itest", message: "The sandbox was not found", code: 502 }), false);
    await expect(edge.named.run("x")).rejects.toMatchObject({ reason: "sandbox_gone", timeout: "sandbox" });
  });
});
