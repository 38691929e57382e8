import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { CommandBytes, CommandOutput } from "../../src/sandbox/command-handle.js";
import { createOutputCapture } from "../../src/sandbox/output-capture.js";
import { OutputWindow } from "../../src/sandbox/output-window.js";
import { type Answer, endFrame, frame, openWireServer, sendJson } from "../transport/support/wire-server.js";
import { type DaemonSandbox, openDaemonSandbox, openParts } from "./support/daemon-sandbox.js";

let sandbox: DaemonSandbox;
beforeAll(async () => {
  sandbox = await openDaemonSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

describe("what is kept of the output", () => {
  it("is whole below the limit, and head, mark and tail above it, however it is cut and without half characters", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "日", "🚀", "\n"), maxLength: 60 });
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 80 }), fc.array(fc.integer({ min: 1, max: 9 })), (written, limit, sizes) => {
        const bytes = new TextEncoder().encode(written);
        const capture = createOutputCapture(limit);
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          if (at < bytes.length) capture.add(bytes.subarray(at, at + size), undefined);
          at += size;
        }
        capture.end(undefined);
        expect(capture.omittedBytes).toBe(Math.max(0, bytes.length - limit));
        if (bytes.length <= limit || limit === 0) {
          expect(capture.text).toBe(limit === 0 ? "" : written);
          return;
        }
        const match = /^([\s\S]*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n([\s\S]*)$/.exec(capture.text);
        const [, head = "?", count, tail = "?"] = match ?? [];
        expect(Number(count)).toBe(bytes.length - limit);
        expect(written.startsWith(head) && written.endsWith(tail)).toBe(true);
        expect(new TextEncoder().encode(head + tail).length).toBeGreaterThanOrEqual(limit - 6);
        expect(capture.text).not.toContain("\uFFFD");
      }),
    );
  });

  it("bounds a result, and says by how much it is short", async () => {
    const result = await sandbox.commands.run("seq 1 100000; seq 1 100000 >&2; exit 3", { maxOutputBytes: 1000, reject: false });
    expect(result).toMatchObject({ exitCode: 3, truncatedBytes: 2 * (588_895 - 1000) });
    expect(result.stdout).toMatch(/^1\n2\n3\n[\s\S]*\n\[\.\.\. 587895 bytes left out \.\.\.\]\n[\s\S]*99999\n100000\n$/);
    expect(result.stderr).toContain("left out");
    const whole = await sandbox.commands.run("seq 1 100", { maxOutputBytes: 1000 });
    expect(whole).toEqual({ exitCode: 0, stdout: Array.from({ length: 100 }, (_, i) => `${i + 1}\n`).join(""), stderr: "" });
    for (const maxOutputBytes of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(sandbox.commands.run("true", { maxOutputBytes })).rejects.toMatchObject({ name: "InvalidArgumentError" });
    }
  });

  it("an iteration that is slower than its process makes the process wait, and gets everything", async () => {
    const handle = await sandbox.commands.start("seq 1 200000", { maxOutputBytes: 10_000, timeoutMs: 0 });
    const pieces: string[] = [];
    for await (const output of handle) {
      if ("text" in output) pieces.push(output.text);
      else throw new Error(`unexpected ${output.type}`);
      if (pieces.length < 5) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(pieces.join("")).toBe(Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join(""));
    const { truncatedBytes } = await handle.wait();
    expect(truncatedBytes).toBeGreaterThan(0);
    expect(handle.truncatedBytes).toBe(truncatedBytes);
  });

  it("an iteration that begins late is told how much it missed", async () => {
    const window = new OutputWindow<string>(10);
    for (const item of ["a".repeat(8), "b".repeat(8), "c".repeat(2)]) expect(window.add(item, item.length)).toBeUndefined();
    window.end();
    const seen: unknown[] = [];
    for await (const entry of window.read()) seen.push(entry);
    expect(seen).toEqual([{ missingBytes: 8 }, { item: "b".repeat(8) }, { item: "cc" }]);
  });

  it("bytes are given as they were written, to callbacks and iterations", async () => {
    const script = "printf '\\377\\000\\303'; sleep 0.05; printf '\\251'; printf 'e\\200' >&2";
    const called: number[] = [];
    const handle = await sandbox.commands.start(script, { format: "bytes", onStdout: (bytes) => void called.push(...bytes) });
    const iterated = { stdout: [] as number[], stderr: [] as number[] };
    for await (const output of handle) if (output.type === "stdout" || output.type === "stderr") iterated[output.type].push(...output.data);
    expect(called).toEqual([0xff, 0, 0xc3, 0xa9]);
    expect(iterated).toEqual({ stdout: [0xff, 0, 0xc3, 0xa9], stderr: [0x65, 0x80] });
    expect((await handle.wait()).stdout).toBe("\uFFFD\0é");
    const typed = async function* (source: AsyncIterable<CommandBytes> | AsyncIterable<CommandOutput>) {
      yield* source;
    };
    expect(typed(handle)).toBeDefined();
  });
});

describe("signals", () => {
  it("any of POSIX reaches the command, and the result names the one that ended it", async () => {
    // Only built-ins: bash may outlive a SIGINT that comes as a program of it ends by itself.
    const handle = await sandbox.commands.start("trap 'echo got' USR1; echo ready; while :; do read -t 9 x; done", { stdin: true });
    await expect.poll(() => handle.stdout).toBe("ready\n");
    await expect(handle.sendSignal("SIGNOPE")).rejects.toMatchObject({ name: "InvalidArgumentError" });
    expect(await handle.sendSignal("SIGUSR1")).toBe(true);
    await expect.poll(() => handle.stdout).toBe("ready\ngot\n");
    expect(await sandbox.commands.sendSignal(handle.pid, "SIGINT")).toBe(true);
    const error = await handle.wait().catch((e: unknown) => e);
    expect(error).toMatchObject({ name: "CommandExitError", exitCode: -1, signal: "SIGINT", error: "signal: interrupt" });
    expect(await handle.sendSignal("SIGTERM")).toBe(false);
    expect(await sandbox.commands.run("kill -KILL $$", { reject: false })).toMatchObject({ exitCode: -1, signal: "SIGKILL" });
    const exited = await sandbox.commands.run("exit 137", { reject: false });
    expect(exited).toMatchObject({ exitCode: 137 });
    expect(exited.signal).toBeUndefined();
  });

  it("the deadline of the command is told as such, to whoever follows it", async () => {
    const handle = await sandbox.commands.start("sleep 60", { timeoutMs: 400 });
    const follower = await sandbox.commands.connect(handle.pid);
    for (const one of [handle, follower]) await expect(one.wait()).rejects.toMatchObject({ name: "TimeoutError", timeout: "command" });
    const detached = await sandbox.commands.start("sleep 60");
    const short = await sandbox.commands.connect(detached.pid, { timeoutMs: 200 });
    await expect(short.wait()).rejects.toMatchObject({ name: "TimeoutError", timeout: "command" });
    expect(await detached.kill()).toBe(true);
  });

  it("a tag shows in the list", async () => {
    const handle = await sandbox.commands.start("sleep 60", { tag: "mine" });
    expect((await sandbox.commands.list()).find(({ pid }) => pid === handle.pid)?.tag).toBe("mine");
    await handle.kill();
  });
});

it("input arrives in the order of the calls, also when nobody awaits them", async () => {
  const handle = await sandbox.commands.start("cat", { stdin: true });
  const texts = Array.from({ length: 50 }, (_, index) => `${index} `);
  await Promise.all([...texts.map((text) => handle.sendStdin(text)), handle.closeStdin()]);
  expect((await handle.wait()).stdout).toBe(texts.join(""));
});

describe("a daemon that is not ours", () => {
  const out = (text: string) => frame({ event: { data: { stdout: Buffer.from(text).toString("base64") } } });
  const start = frame({ event: { start: { pid: 7 } } });
  const end = frame({ event: { end: { exitCode: 4, exited: true, status: "exit status 4", error: "exit status 4" } } });

  it("a cut stream goes on with the live process, and the result says that output may be missing", async () => {
    let connects = 0;
    const answer: Answer = (req, res) => {
      if (req.url === "/health") return void res.writeHead(204).end();
      res.writeHead(200, { "content-type": "application/connect+json" });
      if (req.url?.endsWith("/Start")) return void res.write(Buffer.concat([start, out("one ")]), () => res.socket?.destroy());
      connects += 1;
      if (connects === 1) return void res.socket?.destroy();
      res.end(Buffer.concat([start, out("two"), end, endFrame()]));
    };
    await using server = await openWireServer(answer);
    const parts = await openParts(server.url, { isBinary: false });
    const gaps: unknown[] = [];
    const result = await parts.commands.run("x", { reject: false, onGap: (gap) => void gaps.push(gap) });
    expect(result).toMatchObject({ exitCode: 4, stdout: "one two", outputMayBeIncomplete: true });
    expect(result.missingBytes).toBeUndefined();
    expect(gaps).toEqual([{ type: "gap", missingBytes: undefined }]);
  });

  it("when the process is gone by then, its exit stays unknown", async () => {
    const answer: Answer = (req, res) => {
      if (req.url === "/health") return void res.writeHead(204).end();
      if (!req.url?.endsWith("/Start")) return sendJson(res, 404, { code: "not_found", message: "no such process" });
      res.writeHead(200, { "content-type": "application/connect+json" });
      res.write(start, () => res.socket?.destroy());
    };
    await using server = await openWireServer(answer);
    const parts = await openParts(server.url, { isBinary: false });
    await expect(parts.commands.run("x", { reject: false })).rejects.toMatchObject({ name: "ConnectionError" });
  });

  it("sends SIGTERM and SIGKILL, and refuses other signals", async () => {
    await using server = await openWireServer((_req, res) => sendJson(res, 200, {}));
    const parts = await openParts(server.url, { isBinary: false });
    expect(await parts.commands.sendSignal(7, "SIGTERM")).toBe(true);
    await expect(parts.commands.sendSignal(7, "SIGINT")).rejects.toMatchObject({ name: "UnimplementedError" });
  });
});

it("STR-12: a race of output, end, cancellation and lost connections has exactly one outcome", async () => {
  const onUncaught = vi.fn();
  process.on("unhandledRejection", onUncaught);
  const text = (value: string) => frame({ event: { data: { stdout: Buffer.from(value).toString("base64") } } });
  const answer: Answer = (req, res) => {
    if (req.url === "/health") return void res.writeHead(204).end();
    if (!req.url?.endsWith("/Start")) return sendJson(res, 200, {});
    res.writeHead(200, { "content-type": "application/connect+json" });
    res.write(Buffer.concat([frame({ event: { start: { pid: 7 } } }), text("a")]));
    const kind = Math.floor(Math.random() * 3);
    setTimeout(() => {
      res.write(text("b"));
      if (kind === 0) res.socket?.destroy();
      else if (kind === 1)
        res.end(Buffer.concat([frame({ event: { end: { exitCode: 0, exited: true, status: "exit status 0" } } }), endFrame()]));
      else res.end(endFrame({ code: "internal" }));
    }, Math.random() * 6);
  };
  try {
    await using server = await openWireServer(answer);
    const parts = await openParts(server.url, { isBinary: false, retries: 0 });
    for (let round = 0; round < 20; round += 1) {
      const settled = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const abort = new AbortController();
          setTimeout(() => abort.abort(new Error("enough")), Math.random() * 6);
          try {
            const handle = await parts.commands.start("x", { signal: abort.signal });
            if (Math.random() < 0.3) setTimeout(() => void handle.disconnect(), Math.random() * 6);
            const first = await handle.waitForOutcome().then(
              ({ exitCode }) => exitCode,
              (error: unknown) => error,
            );
            const second = await handle.waitForOutcome().then(
              ({ exitCode }) => exitCode,
              (error: unknown) => error,
            );
            expect(second).toBe(first);
            return first;
          } catch (error) {
            return error;
          }
        }),
      );
      for (const outcome of settled) {
        if (outcome !== 0) expect((outcome as Error).message).toMatch(/enough|disconnected|connection|stream|internal/);
      }
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(onUncaught).not.toHaveBeenCalled();
  } finally {
    process.off("unhandledRejection", onUncaught);
  }
}, 60_000);
