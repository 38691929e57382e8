import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConnectionError, InvalidArgumentError, PermissionDeniedError, TimeoutError } from "../../src/errors/error-classes.js";
import type { FilesystemEvent } from "../../src/protocol/filesystem-client.js";
import type { WatchOptions } from "../../src/sandbox/files.js";
import { type Answer, endFrame, frame, openWireServer } from "../transport/support/wire-server.js";
import { type DaemonSandbox, openDaemonSandbox, openParts } from "./support/daemon-sandbox.js";

const START = frame({ start: {} });
const EVENT = frame({ filesystem: { name: "f", type: "EVENT_TYPE_WRITE" } });

/** A peer that confirms each watch and then does what the test says. */
const watching =
  (write: (res: Parameters<Answer>[1]) => void, health = 204): Answer =>
  (req, res) => {
    if (req.url === "/health") return res.writeHead(health).end();
    res.writeHead(200, { "content-type": "application/connect+json" });
    res.write(START);
    write(res);
  };

/** What `onExit` was called with, once the watch is over and everything behind it had its turn. */
async function exitsOn(
  answer: Answer,
  options: WatchOptions = {},
): Promise<{ readonly exits: unknown[]; readonly events: FilesystemEvent[] }> {
  await using server = await openWireServer(answer);
  const { files } = await openParts(server.url, { isBinary: false, retries: 0 });
  const exits: unknown[] = [];
  const events: FilesystemEvent[] = [];
  const handle = await files.watchDir("x", (event) => void events.push(event), { ...options, onExit: (error) => void exits.push(error) });
  // The server may say itself that the time is over, so the client waits a little longer.
  await expect.poll(() => exits.length, { timeout: 10_000 }).toBe(1);
  await handle.stop();
  await new Promise((resolve) => setImmediate(resolve));
  return { exits, events };
}

describe("watches of peers", () => {
  it("WAT-05: a stream that the server ends well calls onExit once, without an error", async () => {
    const { exits, events } = await exitsOn(watching((res) => res.end(Buffer.concat([EVENT, endFrame()]))));
    expect(exits).toEqual([undefined]);
    expect(events).toEqual([{ name: "f", type: "write" }]);
  });

  it("WAT-05: every other end calls onExit once with a typed error", async () => {
    const cut = await exitsOn(watching((res) => setTimeout(() => res.socket?.destroy(), 10)));
    expect(cut.exits).toEqual([expect.any(ConnectionError)]);
    const unfinished = await exitsOn(watching((res) => res.end(EVENT)));
    expect(unfinished).toMatchObject({ exits: [expect.any(ConnectionError)], events: [{ name: "f" }] });
    const killed = await exitsOn(watching((res) => setTimeout(() => res.socket?.destroy(), 10), 502));
    expect(killed.exits).toEqual([expect.objectContaining({ name: "TimeoutError", reason: "sandbox_gone" })]);
    const refused = await exitsOn(watching((res) => res.end(endFrame({ code: "permission_denied", message: "no more" }))));
    expect(refused.exits).toEqual([expect.any(PermissionDeniedError)]);
    const late = await exitsOn(
      watching(() => {}),
      { timeoutMs: 100 },
    );
    expect(late.exits).toEqual([expect.any(TimeoutError)]);
  });

  it("WAT-11: the server is told 60 s unless asked otherwise, and nothing for no limit", async () => {
    await using server = await openWireServer(watching(() => {}));
    const { files } = await openParts(server.url, { isBinary: false });
    for (const timeoutMs of [undefined, 0, 500, 2 ** 31]) await (await files.watchDir("x", () => {}, { timeoutMs })).stop();
    expect(server.headers.map((headers) => headers["connect-timeout-ms"])).toEqual(["60000", undefined, "500", "2147483648"]);
    for (const timeoutMs of [-1, Number.NaN]) {
      await expect(files.watchDir("x", () => {}, { timeoutMs })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
  });

  it("WAT-11: a watch that was stopped keeps neither its timer nor its connection", async () => {
    await using server = await openWireServer(watching(() => {}));
    const { files } = await openParts(server.url, { isBinary: false });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    const handles = await Promise.all(Array.from({ length: 50 }, () => files.watchDir("x", () => {}, { timeoutMs: 3_600_000 })));
    await Promise.all(handles.map((handle) => handle.stop()));
    await expect.poll(() => server.openConnections()).toBeLessThanOrEqual(1);
    expect(timers() - before).toBeLessThan(10);
  });
});

describe("watches of the daemon", () => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox();
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("WAT-04: a callback that rejects or throws, now or later, ends the watch in onExit and nowhere else", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on("unhandledRejection", note);
    try {
      await sandbox.files.makeDir("w");
      for (const [index, fail] of [
        async () => Promise.reject(1),
        () => {
          throw new Error("now");
        },
        async () => {
          await new Promise((resolve) => setTimeout(resolve, 10));
          throw undefined;
        },
      ].entries()) {
        const exits: unknown[] = [];
        let calls = 0;
        const handle = await sandbox.files.watchDir(
          "w",
          () => {
            calls += 1;
            return fail();
          },
          {
            onExit: async (error) => {
              exits.push(error);
              throw new Error("onExit fails too");
            },
          },
        );
        for (let file = 0; file < 5; file += 1) await sandbox.files.write(`w/${index}-${file}`, "x");
        await expect.poll(() => exits.length).toBe(1);
        await handle.stop();
        expect(exits[0]).not.toBeUndefined();
        expect([calls, exits.length]).toEqual([1, 1]);
      }
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", note);
    }
  });

  it("WAT-04: a slow callback is awaited, so events come one after the other in their order", async () => {
    await sandbox.files.makeDir("slow");
    const seen: string[] = [];
    let running = 0;
    const handle = await sandbox.files.watchDir("slow", async ({ name, type }) => {
      expect(running).toBe(0);
      running += 1;
      await new Promise((resolve) => setTimeout(resolve, 2));
      if (type === "create") seen.push(name);
      running -= 1;
    });
    const names = Array.from({ length: 30 }, (_, index) => `f${index}`);
    for (const name of names) await sandbox.files.write(`slow/${name}`, "");
    await expect.poll(() => seen).toEqual(names);
    await handle.stop();
  });

  it("a signal that is aborted ends the watch with its reason", async () => {
    await sandbox.files.makeDir("signal");
    const controller = new AbortController();
    const reason = new Error("enough");
    const exit = new Promise((resolve) => {
      void sandbox.files.watchDir("signal", () => {}, { signal: controller.signal, onExit: resolve }).then(() => controller.abort(reason));
    });
    expect(await exit).toBe(reason);
  });
});
