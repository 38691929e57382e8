import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileNotFoundError, InvalidArgumentError, TimeoutError } from "../../src/errors/error-classes.js";
import type { FilesystemEvent } from "../../src/protocol/filesystem-client.js";
import { type DaemonSandbox, openDaemonSandbox, openParts } from "./support/daemon-sandbox.js";
import { openRecorder } from "./support/recorder.js";

describe.each([
  ["binary", true],
  ["JSON", false],
])("files over %s", (_name, isBinary) => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox({ isBinary });
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("FIL-01, FIL-02: an empty file is written on both upload forms and read in each format as an empty value of that type", async () => {
    for (const useOctetStream of [true, false]) {
      const written = await sandbox.files.write("e.bin", "", { useOctetStream });
      expect(written).toMatchObject({ name: "e.bin", path: `${sandbox.home}/e.bin`, type: "file" });
      expect((await sandbox.files.getInfo("e.bin")).size).toBe(0);
      expect(await sandbox.files.read("e.bin")).toBe("");
      expect(await sandbox.files.read("e.bin", { format: "bytes" })).toEqual(new Uint8Array(0));
      expect((await sandbox.files.read("e.bin", { format: "blob" })).size).toBe(0);
      expect(await (await sandbox.files.read("e.bin", { format: "stream" })).getReader().read()).toEqual({ done: true, value: undefined });
    }
  });

  it("FIL-30: every kind of data arrives byte for byte, on both upload forms and compressed", async () => {
    const text = "\ufeffé日🚀".repeat(1000);
    const bytes = new TextEncoder().encode(text);
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
    }
    const kinds = () => [text, bytes, bytes.buffer, new Blob([bytes]), new Blob([bytes]).stream(), pieces(), new DataView(bytes.buffer)];
    for (const options of [{}, { useOctetStream: false }, { gzip: true }]) {
      for (const data of kinds()) {
        await sandbox.files.write("u.txt", data, options);
        expect((await sandbox.files.getInfo("u.txt")).size).toBe(bytes.length);
        expect(await sandbox.files.read("u.txt")).toBe(text);
      }
    }
    expect(await sandbox.files.read("u.txt", { gzip: true })).toBe(text);
    const stream = await sandbox.files.read("u.txt", { format: "stream", gzip: true });
    expect(await new Response(stream).text()).toBe(text.slice(1));
  });

  it("several files are written in one call, also with names that a form cannot carry, and each path once", async () => {
    const files = [
      { path: "m/a.txt", data: "1" },
      { path: 'm/q"uo\\te.txt', data: "é日" },
      { path: "m/c.txt", data: new Blob(["3"]) },
    ];
    const written = await sandbox.files.writeFiles(files);
    expect(written.map(({ path }) => path)).toEqual(files.map(({ path }) => `${sandbox.home}/${path}`));
    expect(await sandbox.files.read('m/q"uo\\te.txt')).toBe("é日");
    expect(await sandbox.files.write([])).toEqual([]);
    await expect(
      sandbox.files.writeFiles([
        { path: "x", data: "1" },
        { path: "./x", data: "2" },
      ]),
    ).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("several files go in one request, compressed or not, streams too", async () => {
    const recorder = await openRecorder(sandbox.baseUrl);
    const { files } = await openParts(recorder.url, { isBinary });
    try {
      for (const gzip of [false, true]) {
        async function* pieces() {
          yield "é";
          yield new TextEncoder().encode("日".repeat(100_000));
        }
        const entries = [
          { path: "one/text", data: "é日🚀".repeat(1000) },
          { path: "one/stream", data: pieces() },
          { path: "one/node", data: Readable.from([Buffer.from("n"), Buffer.from("ode")]) },
          { path: "one/web", data: new Blob(["w"]).stream() },
          { path: "one/empty", data: new Uint8Array(0) },
        ];
        const written = await files.writeFiles(entries, { gzip, metadata: { kind: "many" } });
        expect(written.map(({ name, metadata }) => [name, metadata])).toEqual(
          ["text", "stream", "node", "web", "empty"].map((name) => [name, { kind: "many" }]),
        );
        expect(recorder.requests.splice(0)).toEqual([
          ["POST", "/files", expect.stringMatching(/^multipart\/form-data/), gzip ? "gzip" : undefined],
        ]);
        expect(await sandbox.files.read("one/text")).toBe("é日🚀".repeat(1000));
        expect(await sandbox.files.read("one/stream")).toBe(`é${"日".repeat(100_000)}`);
        expect(await sandbox.files.read("one/node")).toBe("node");
        expect((await sandbox.files.list("one")).map(({ size }) => size)).toEqual([0, 4, 300_002, 9000, 1]);
      }
      await files.writeFiles(
        [
          { path: "one/a", data: "1" },
          { path: "one/b", data: "2" },
        ],
        { useOctetStream: true },
      );
      expect(recorder.requests.map(([, , type]) => type)).toEqual(["application/octet-stream", "application/octet-stream"]);
    } finally {
      await recorder.close();
    }
  });

  it("FIL-09: gzip sends a compressed raw body", async () => {
    const recorder = await openRecorder(sandbox.baseUrl);
    const { files } = await openParts(recorder.url, { isBinary });
    try {
      await files.write("g.txt", "text", { gzip: true });
      await files.write("g.txt", "text", { gzip: true, useOctetStream: false });
      expect(recorder.requests.map(([, , ...headers]) => headers)).toEqual([
        ["application/octet-stream", "gzip"],
        ["application/octet-stream", "gzip"],
      ]);
      expect(await sandbox.files.read("g.txt")).toBe("text");
    } finally {
      await recorder.close();
    }
  });

  it("a range gives its bytes in each format, and nothing behind the end", async () => {
    await sandbox.files.write("r.txt", "0123456789");
    await sandbox.files.write("r0.txt", "");
    for (const [range, expected] of [
      [{ start: 0 }, "0123456789"],
      [{ start: 4 }, "456789"],
      [{ start: 2, end: 5 }, "234"],
      [{ start: 9, end: 99 }, "9"],
      [{ start: 10 }, ""],
      [{ start: 1000, end: 1001 }, ""],
    ] as const) {
      expect(await sandbox.files.read("r.txt", { range })).toBe(expected);
      expect(await sandbox.files.read("r.txt", { range, gzip: true, format: "text" })).toBe(expected);
      expect(new TextDecoder().decode(await sandbox.files.read("r.txt", { range, format: "bytes" }))).toBe(expected);
      expect(await (await sandbox.files.read("r.txt", { range, format: "blob" })).text()).toBe(expected);
      expect(await new Response(await sandbox.files.read("r.txt", { range, format: "stream" })).text()).toBe(expected);
      expect(await sandbox.files.read("r0.txt", { range })).toBe("");
    }
    for (const range of [{ start: -1 }, { start: 1.5 }, { start: 5, end: 5 }, { start: 5, end: 4 }, { start: Number.NaN }]) {
      await expect(sandbox.files.read("r.txt", { range })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    await expect(sandbox.files.read("none", { range: { start: 0 } })).rejects.toBeInstanceOf(FileNotFoundError);
  });

  it("FIL-12, FIL-35: dot files and relative paths mean the same on every call", async () => {
    for (const path of [".env", "..data/x", "a/./b", "a/../b", "...", "~/t", "~"]) {
      if (path !== "~") {
        await sandbox.files.write(path, path);
        expect(await sandbox.files.read(path)).toBe(path);
      }
      expect((await sandbox.files.getInfo(path)).path.startsWith(sandbox.home)).toBe(true);
    }
    await expect(sandbox.files.getInfo("~other/x")).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(sandbox.files.read("~other/x")).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("FIL-14: a directory is neither read nor written as a file", async () => {
    await sandbox.files.makeDir("d");
    await expect(sandbox.files.write("d", "x")).rejects.toBeInstanceOf(InvalidArgumentError);
    await expect(sandbox.files.read("d")).rejects.toBeInstanceOf(InvalidArgumentError);
    expect((await sandbox.files.getInfo("d")).type).toBe("dir");
  });

  it("FIL-16: uploads at once into one new directory all succeed", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => sandbox.files.write(`n/e/w/${i}.txt`, String(i))));
    const entries = await sandbox.files.list("n/e/w");
    expect(entries).toHaveLength(50);
    expect(entries.every(({ type, owner }) => type === "file" && owner === "user")).toBe(true);
  });

  it("FIL-21: making a directory twice is true, then false; over a file it is refused", async () => {
    expect(await sandbox.files.makeDir("mk/b/c")).toBe(true);
    expect(await sandbox.files.makeDir("mk/b/c")).toBe(false);
    await sandbox.files.write("mk/f", "");
    await expect(sandbox.files.makeDir("mk/f")).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("FIL-22: a list has the asked depth, and depths below 1 are refused", async () => {
    await sandbox.files.write("deep/1/2/3/4/5/f", "");
    expect((await sandbox.files.list("deep", { depth: 3 })).map(({ name }) => name)).toEqual(["1", "2", "3"]);
    expect(await sandbox.files.list("deep", { depth: 10 })).toHaveLength(6);
    for (const depth of [0, -1, 1.5]) await expect(sandbox.files.list("deep", { depth })).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("FIL-26: labels are checked before anything is sent, lower-cased, and replaced as a whole", async () => {
    const refused: Record<string, string>[] = [{ a: "ok\n" }, { a: "é" }, { "": "x" }, { "a b": "x" }];
    for (const metadata of refused) {
      await expect(sandbox.files.write("l", "x", { metadata })).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    await sandbox.files.write("l", "x", { metadata: { "Up-Case": "v", empty: "" } });
    expect((await sandbox.files.getInfo("l")).metadata).toMatchObject({ "up-case": "v" });
    await sandbox.files.write("l", "x");
    expect((await sandbox.files.getInfo("l")).metadata).toBeUndefined();
  });

  it("a missing path is a FileNotFoundError that names the call, and exists says false", async () => {
    for (const call of [
      () => sandbox.files.read("none"),
      () => sandbox.files.read("none", { format: "stream" }),
      () => sandbox.files.getInfo("none"),
      () => sandbox.files.list("none"),
      () => sandbox.files.rename("none", "other"),
      () => sandbox.files.watchDir("none", () => {}),
    ]) {
      const error = await call().catch((e: unknown) => e);
      expect(error).toBeInstanceOf(FileNotFoundError);
      expect(error).toMatchObject({ operation: expect.stringMatching(/^files\./), sandboxId: "itest" });
    }
    expect(await sandbox.files.exists("none")).toBe(false);
    await sandbox.files.remove("none");
  });

  it("renaming replaces the target, and removing takes a whole tree", async () => {
    await sandbox.files.write("r/one", "1");
    await sandbox.files.write("r/two", "2");
    expect(await sandbox.files.rename("r/one", "r/two")).toMatchObject({ name: "two", size: 1, type: "file" });
    expect(await sandbox.files.read("r/two")).toBe("1");
    await sandbox.files.remove("r");
    expect(await sandbox.files.exists("r")).toBe(false);
  });

  it("making a directory below a file, and renaming onto or below what is of another kind, name the path as the wrong argument", async () => {
    await sandbox.files.write("kinds/file", "1");
    await sandbox.files.write("kinds/full/x", "1");
    await sandbox.files.makeDir("kinds/other");
    for (const call of [
      () => sandbox.files.makeDir("kinds/file/sub"),
      () => sandbox.files.makeDir("kinds/file/sub/deeper"),
      () => sandbox.files.rename("kinds/file", "kinds/full"),
      () => sandbox.files.rename("kinds/other", "kinds/file"),
      () => sandbox.files.rename("kinds/other", "kinds/full"),
      () => sandbox.files.rename("kinds/other", "kinds/file/sub"),
      () => sandbox.files.rename("kinds/full", "kinds/full/below"),
    ]) {
      const error = await call().catch((e: unknown) => e);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect((error as Error).message).toMatch(/cannot (make directory|move) '.*kinds\/.*: .*(directory|file)/);
    }
    // An empty directory gives way to another.
    await sandbox.files.makeDir("kinds/empty");
    await sandbox.files.rename("kinds/full", "kinds/empty");
    expect(await sandbox.files.read("kinds/empty/x")).toBe("1");
  });

  it("FIL-37: a command sees a file as soon as the write resolved", async () => {
    for (let i = 0; i < 20; i += 1) {
      await sandbox.files.write("seen", String(i));
      expect((await sandbox.commands.run("cat seen")).stdout).toBe(String(i));
    }
  });

  it("a stream that fails fails the write with its own error, and one of wrong chunks is refused", async () => {
    const mine = new Error("source broke");
    async function* broken() {
      yield new Uint8Array(10);
      throw mine;
    }
    await expect(sandbox.files.write("w", broken())).rejects.toBe(mine);
    async function* numbers() {
      yield 1 as unknown as string;
    }
    await expect(sandbox.files.write("w", numbers())).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("FIL-03: a streamed upload waits for the daemon and is sent as it comes", async () => {
    const chunk = new Uint8Array(1 << 20);
    let produced = 0;
    async function* source() {
      for (; produced < 64; produced += 1) yield chunk;
    }
    await sandbox.files.write("big", source());
    expect((await sandbox.files.getInfo("big")).size).toBe(64 << 20);
    const stream = await sandbox.files.read("big", { format: "stream" });
    let size = 0;
    for await (const piece of stream) size += piece.length;
    expect(size).toBe(64 << 20);
    await sandbox.files.remove("big");
  });

  it("a read is aborted by its signal, also in the middle of a stream", async () => {
    await sandbox.files.write("big2", new Uint8Array(32 << 20));
    const controller = new AbortController();
    const stream = await sandbox.files.read("big2", { format: "stream", signal: controller.signal });
    const reader = stream.getReader();
    await reader.read();
    const reason = new Error("stop");
    controller.abort(reason);
    await expect(
      (async () => {
        for (;;) if ((await reader.read()).done) return;
      })(),
    ).rejects.toBe(reason);
    await expect(sandbox.files.read("big2", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("watches", () => {
  let sandbox: DaemonSandbox;
  beforeAll(async () => {
    sandbox = await openDaemonSandbox();
  });
  afterAll(() => sandbox[Symbol.asyncDispose]());

  it("WAT-05: changes arrive in order and onExit is called once without an error after stop", async () => {
    await sandbox.files.makeDir("w1");
    const events: FilesystemEvent[] = [];
    const exits: unknown[] = [];
    const watch = await sandbox.files.watchDir("w1", (event) => void events.push(event), {
      recursive: true,
      includeEntry: true,
      onExit: (error) => void exits.push(error),
    });
    await sandbox.files.write("w1/sub/x.txt", "1");
    await expect.poll(() => events.map(({ name, type }) => `${type} ${name}`)).toContain("create sub");
    await watch.stop();
    await watch.stop();
    expect(exits).toEqual([undefined]);
  });

  it("WAT-04: a failing callback ends the watch and reaches onExit, never the process", async () => {
    await sandbox.files.makeDir("w2");
    const mine = new Error("mine");
    const exit = new Promise((resolve) => {
      void sandbox.files
        .watchDir("w2", () => Promise.reject(mine), { onExit: (error) => resolve(error) })
        .then(() => sandbox.files.write("w2/f", "1"));
    });
    expect(await exit).toBe(mine);
  });

  it("WAT-11: a watch ends after its timeout with a TimeoutError", async () => {
    await sandbox.files.makeDir("w3");
    const exit = new Promise((resolve) => {
      void sandbox.files.watchDir("w3", () => {}, { timeoutMs: 100, onExit: (error) => resolve(error) });
    });
    expect(await exit).toBeInstanceOf(TimeoutError);
    await expect(sandbox.files.watchDir("w3", () => {}, { timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
  });

  it("a file cannot be watched", async () => {
    await sandbox.files.write("plain", "");
    await expect(sandbox.files.watchDir("plain", () => {})).rejects.toBeInstanceOf(InvalidArgumentError);
  });
});
