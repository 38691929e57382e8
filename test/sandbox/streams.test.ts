import { describe, expect, it } from "vitest";
import {
  ConnectionError,
  ProtocolError,
  RateLimitError,
  SandboxNotFoundError,
  TimeoutError,
  UnimplementedError,
} from "../../src/errors/error-classes.js";
import { type Answer, endFrame, frame, openWireServer, sendJson } from "../transport/support/wire-server.js";
import { openParts } from "./support/daemon-sandbox.js";

const START = frame({ event: { start: { pid: 7 } } });
const OUT = frame({ event: { data: { stdout: Buffer.from("hi").toString("base64") } } });
const END = frame({ event: { end: { exitCode: 0, exited: true, status: "exit status 0" } } });

async function onServer<T>(answer: Answer, use: (parts: Awaited<ReturnType<typeof openParts>>, url: string) => Promise<T>): Promise<T> {
  await using server = await openWireServer(answer);
  return await use(await openParts(server.url, { isBinary: false, retries: 0 }), server.url);
}

/** `/health` answers 204 and every stream is what the test says. */
const streaming =
  (write: (res: Parameters<Answer>[1]) => void): Answer =>
  (req, res) => {
    if (req.url === "/health") return res.writeHead(204).end();
    if (!req.url?.endsWith("/Start")) return sendJson(res, 200, {});
    res.writeHead(200, { "content-type": "application/connect+json" });
    write(res);
  };

describe("streams of a command", () => {
  it("STR-01: a body that ends without the end-of-stream message never yields an exit code", async () => {
    for (const pieces of [[START], [START, OUT], [START, OUT, END], [START, OUT.subarray(0, 9)]]) {
      const failed = await onServer(
        streaming((res) => {
          for (const piece of pieces) res.write(piece);
          res.end();
        }),
        (parts) =>
          parts.commands.run("x").then(
            () => "success",
            (error: unknown) => error,
          ),
      );
      // The end event is the daemon's word; only without it the outcome is unknown.
      if (pieces.includes(END)) expect(failed).toBe("success");
      else expect(failed).toBeInstanceOf(ConnectionError);
    }
  });

  it("a stream that is complete without an end event is a broken peer", async () => {
    const answer = streaming((res) => res.end(Buffer.concat([START, OUT, endFrame()])));
    await expect(onServer(answer, (parts) => parts.commands.run("x"))).rejects.toBeInstanceOf(ProtocolError);
  });

  it("STR-05: unknown fields, events and enum values of a newer peer are passed over", async () => {
    const extra = frame({ event: { start: { pid: 7, color: "red" } }, more: [1] });
    const unknown = frame({ event: { telemetry: { x: 1 } } });
    const answer = streaming((res) => res.end(Buffer.concat([extra, unknown, frame({ event: { keepalive: {} } }), OUT, END, endFrame()])));
    expect(await onServer(answer, (parts) => parts.commands.run("x"))).toMatchObject({ stdout: "hi", exitCode: 0 });
  });

  it("messages are the same however the network cuts them", async () => {
    const all = Buffer.concat([START, OUT, END, endFrame()]);
    const answer = streaming((res) => {
      let at = 0;
      const next = () => {
        if (at >= all.length) return res.end();
        res.write(all.subarray(at, at + 1));
        at += 1;
        setImmediate(next);
      };
      next();
    });
    expect(await onServer(answer, (parts) => parts.commands.run("x"))).toMatchObject({ stdout: "hi" });
  });

  it("STR-17: a message length near 4 GiB is refused at once, and so is a compressed message", async () => {
    for (const bad of [Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2]), frame({ event: {} }, 1)]) {
      const answer = streaming((res) => res.write(Buffer.concat([START, bad])));
      await expect(onServer(answer, (parts) => parts.commands.run("x"))).rejects.toBeInstanceOf(ProtocolError);
    }
  });

  it("a killed sandbox is told from a broken network by its health", async () => {
    let isGone = true;
    const answer: Answer = (req, res) => {
      if (req.url === "/health")
        return isGone ? sendJson(res, 502, { code: 502, message: "The sandbox was not found" }) : res.writeHead(204).end();
      res.writeHead(200, { "content-type": "application/connect+json" });
      res.write(START);
      setTimeout(() => res.socket?.destroy(), 20);
    };
    const gone = await onServer(answer, (parts) => parts.commands.run("x").catch((e: unknown) => e));
    expect(gone).toBeInstanceOf(TimeoutError);
    expect(gone).toMatchObject({
      timeout: "sandbox",
      reason: "sandbox_gone",
      message: expect.stringMatching(/The sandbox was killed or reached its end of life while the request was in flight\.$/),
    });
    isGone = false;
    await expect(onServer(answer, (parts) => parts.commands.run("x"))).rejects.toBeInstanceOf(ConnectionError);
  });

  it("ERR-10: a sandbox that is gone before the first message is a SandboxNotFoundError", async () => {
    const answer: Answer = (_req, res) => sendJson(res, 502, { sandboxId: "itest", message: "The sandbox was not found", code: 502 });
    await onServer(answer, async (parts) => {
      await expect(parts.commands.run("x")).rejects.toBeInstanceOf(SandboxNotFoundError);
      await expect(parts.files.watchDir("x", () => {})).rejects.toBeInstanceOf(SandboxNotFoundError);
      await expect(parts.files.read("x")).rejects.toMatchObject({ name: "TimeoutError", timeout: "sandbox" });
      await expect(parts.files.makeDir("x")).rejects.toMatchObject({ name: "TimeoutError", timeout: "sandbox" });
      expect(await parts.isHealthy({})).toBe(false);
    });
  });

  it("ERR-03: rate limits are typed the same from HTTP and from Connect", async () => {
    const statuses: Answer = (_req, res) => sendJson(res, 429, { code: 429, message: "slow down" });
    await onServer(statuses, async (parts) => {
      await expect(parts.files.read("x")).rejects.toBeInstanceOf(RateLimitError);
      await expect(parts.files.exists("x")).rejects.toBeInstanceOf(RateLimitError);
    });
    const connect: Answer = (_req, res) => sendJson(res, 429, { code: "resource_exhausted", message: "slow down" });
    await expect(onServer(connect, (parts) => parts.files.getInfo("x"))).rejects.toBeInstanceOf(RateLimitError);
    const inStream = streaming((res) => res.end(endFrame({ code: "resource_exhausted" })));
    await expect(onServer(inStream, (parts) => parts.commands.run("x"))).rejects.toBeInstanceOf(RateLimitError);
  });

  it("ERR-04: errors that are not JSON are typed, with the status and a short excerpt", async () => {
    const bodies = [
      "<html><style>b{}</style><body><h1>Bad Gateway</h1></body></html>",
      "oops",
      '{"code":',
      "null",
      '"text"',
      "x".repeat(5 << 20),
      "",
    ];
    for (const body of bodies) {
      const answer: Answer = (_req, res) => res.writeHead(500, { "content-type": "text/html; charset=nonsense" }).end(body);
      await onServer(answer, async (parts) => {
        for (const call of [() => parts.files.read("x"), () => parts.files.getInfo("x"), () => parts.commands.run("x")]) {
          const error = await call().catch((e: unknown) => e);
          expect(error).toMatchObject({ name: "InternalError", statusCode: 500 });
          expect((error as Error).message.length).toBeLessThan(500);
        }
      });
    }
  });

  it("a peer without the method is told as such", async () => {
    await expect(
      onServer(
        (_req, res) => res.writeHead(404).end("404"),
        (parts) => parts.commands.list(),
      ),
    ).rejects.toBeInstanceOf(UnimplementedError);
  });

  it("FIL-28: JSON that is not a file is an error and never content", async () => {
    const answer: Answer = (_req, res) => sendJson(res, 200, { error: "no" });
    await onServer(answer, async (parts) => {
      for (const format of ["text", "bytes", "stream"] as const) {
        await expect(parts.files.read("x", { format })).rejects.toBeInstanceOf(ProtocolError);
      }
    });
  });

  it("FIL-06: a download that is cut short is an error", async () => {
    const answer: Answer = (req, res) => {
      if (req.url === "/health") return res.writeHead(204).end();
      res.writeHead(200, { "content-length": "1000", "content-disposition": "inline" });
      res.write("short");
      setTimeout(() => res.socket?.end(), 10);
    };
    await onServer(answer, async (parts) => {
      await expect(parts.files.read("x")).rejects.toBeInstanceOf(ConnectionError);
      const stream = await parts.files.read("x", { format: "stream" });
      await expect(new Response(stream).text()).rejects.toBeInstanceOf(ConnectionError);
    });
  });

  it("ERR-07: no answer within requestTimeoutMs is a TimeoutError that names it", async () => {
    await onServer(
      () => {},
      async (parts) => {
        for (const call of [
          () => parts.files.getInfo("x", { requestTimeoutMs: 50 }),
          () => parts.files.read("x", { requestTimeoutMs: 50 }),
          () => parts.commands.run("x", { requestTimeoutMs: 50 }),
        ]) {
          await expect(call()).rejects.toMatchObject({
            name: "TimeoutError",
            timeout: "request",
            message: expect.stringContaining("50 ms"),
          });
        }
      },
    );
  });

  it("STR-08: a silent stream lasts, because only its own timeout ends it", async () => {
    const answer = streaming((res) => {
      res.write(START);
      setTimeout(() => res.end(Buffer.concat([END, endFrame()])), 3_000);
    });
    const result = await onServer(answer, (parts) => parts.commands.run("x", { requestTimeoutMs: 2_000 }));
    expect(result.exitCode).toBe(0);
  });

  it("STR-09: 200 abandoned streams leave no connection behind", async () => {
    const answer: Answer = (req, res) => {
      if (!req.url?.endsWith("/Start")) return sendJson(res, 200, { processes: [] });
      res.writeHead(200, { "content-type": "application/connect+json" });
      res.write(START);
    };
    await using server = await openWireServer(answer);
    const parts = await openParts(server.url, { isBinary: false });
    const handles = await Promise.all(Array.from({ length: 200 }, () => parts.commands.start("x")));
    await Promise.all(handles.map((handle) => handle.disconnect()));
    expect(await parts.commands.list()).toEqual([]);
    await expect.poll(() => server.openConnections()).toBeLessThanOrEqual(1);
  });

  it("AUT-08: user names are UTF-8 on the wire and a colon is refused", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 200, { entry: { name: "x" } }));
    const parts = await openParts(server.url, { isBinary: false });
    for (const user of ["ü", "日本"]) {
      await parts.files.getInfo("x", { user });
      expect(server.headers.at(-1)?.authorization).toBe(`Basic ${Buffer.from(`${user}:`).toString("base64")}`);
    }
    await expect(parts.files.getInfo("x", { user: "a:b" })).rejects.toMatchObject({ name: "InvalidArgumentError" });
  });

  it("STR-16: a logger that throws fails no call and sees no secret", async () => {
    const lines: string[] = [];
    const log = (message: string, facts?: unknown) => {
      lines.push(message + JSON.stringify(facts));
      throw new Error("logger");
    };
    await using server = await openWireServer((_req, res) => sendJson(res, 200, { entry: { name: "x", size: "9007199254740993" } }));
    const parts = await openParts(server.url, { isBinary: false, logger: { info: log, error: log, debug: log, warn: log } });
    expect((await parts.files.getInfo("secret-path")).name).toBe("x");
    expect(lines.join()).toContain("Stat");
    expect(lines.join()).not.toContain("secret-path");
  });

  it("ERR-08: what a custom fetch throws becomes an Error with that cause", async () => {
    for (const thrown of ["x", null, { code: 1 }, Symbol("s")]) {
      const parts = await openParts("http://127.0.0.1:9", { retries: 0, fetch: () => Promise.reject(thrown) });
      const error = await parts.files.getInfo("x").catch((e: unknown) => e);
      expect(error).toBeInstanceOf(ConnectionError);
      expect((error as Error).cause).toBe(thrown);
    }
  });
});

describe("repeated calls", () => {
  it("a daemon's idempotent call is sent again after a lost connection, a gone sandbox is not asked again", async () => {
    let count = 0;
    await using server = await openWireServer((req, res) => {
      count += 1;
      if (count === 1) return void req.socket.destroy();
      sendJson(res, 200, { entry: { name: "x" } });
    });
    const parts = await openParts(server.url, { isBinary: false });
    expect(await parts.files.exists("x")).toBe(true);
    expect(count).toBe(2);
    await using gone = await openWireServer((_req, res) => sendJson(res, 502, { code: 502, message: "The sandbox was not found" }));
    await expect((await openParts(gone.url, { isBinary: false })).files.exists("x")).rejects.toMatchObject({ timeout: "sandbox" });
    expect(gone.requests).toHaveLength(1);
  });

  it("input and commands are sent at most once", async () => {
    await using server = await openWireServer((req) => void req.socket.destroy());
    const parts = await openParts(server.url, { isBinary: false });
    await expect(parts.commands.sendStdin(7, "x")).rejects.toMatchObject({ name: "ConnectionError" });
    await expect(parts.commands.run("x")).rejects.toMatchObject({ name: "ConnectionError" });
    expect(server.requests.filter((request) => request.includes("SendInput"))).toHaveLength(1);
    expect(server.requests.filter((request) => request.includes("Start"))).toHaveLength(1);
  });
});
