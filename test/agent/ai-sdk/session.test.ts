import { Buffer } from "node:buffer";
import type { Experimental_SandboxSession } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openSandboxSession } from "../../../src/agent/ai-sdk/open-sandbox-session.js";
import { Sandbox } from "../../../src/sandbox/sandbox.js";
import { describeOnPlatform } from "../../support/platform.js";

const POLL = { timeout: 15_000 };
const ODD_NAMES = [
  "with space",
  "quo'te\"s",
  "new\nline",
  "-dash",
  "~tilde",
  "ünïcødé 🦜",
  "$(touch x)",
  "*",
  "back\\slash",
  "a#b?c%20&d=e",
];

const textStream = (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
const toStream = (...chunks: Uint8Array[]) => new Blob(chunks as Uint8Array<ArrayBuffer>[]).stream();

describeOnPlatform("a sandbox as a session of the AI SDK", ({ apiUrl, sandboxUrl, apiKey }) => {
  const connection = { apiUrl, sandboxUrl, apiKey };
  let sandbox: Sandbox;
  let session: Experimental_SandboxSession;
  beforeAll(async () => {
    sandbox = await Sandbox.create({ ...connection, timeoutMs: 300_000 });
    session = await openSandboxSession(sandbox);
  });
  afterAll(() => sandbox.kill());

  it("describes itself for instructions of a model", () => {
    expect(session.description).toContain(sandbox.sandboxId);
    expect(session.description).toContain("begin in /home/user.");
    expect(session.description).toContain(`http://${sandbox.getHost(8000)}`);
  });

  describe("files", () => {
    it("gives null for what is not there, and for a path through a file", async () => {
      await session.writeTextFile({ path: "plain.txt", content: "x" });
      for (const path of ["missing.txt", "/no/such/dir/file", "plain.txt/below"]) {
        expect(await session.readFile({ path })).toBeNull();
        expect(await session.readBinaryFile({ path })).toBeNull();
        expect(await session.readTextFile({ path })).toBeNull();
        expect(await session.readTextFile({ path, startLine: 2 })).toBeNull();
        expect(await session.stat({ path })).toBeNull();
        expect(await session.listDirectory({ path })).toBeNull();
        expect(await session.deleteFile({ path })).toBe(false);
      }
    });

    it("rejects for a directory where a file is meant, and the other way round", async () => {
      await session.writeTextFile({ path: "dir/inner.txt", content: "kept" });
      const content = new Uint8Array([1]);
      await expect(session.readBinaryFile({ path: "dir" })).rejects.toThrow(/directory/);
      await expect(session.readFile({ path: "dir" })).rejects.toThrow(/directory/);
      await expect(session.writeBinaryFile({ path: "dir", content })).rejects.toThrow(/directory/);
      await expect(session.writeTextFile({ path: "dir", content: "x" })).rejects.toThrow(/directory/);
      await expect(session.writeFile({ path: "dir", content: toStream(content) })).rejects.toThrow(/directory/);
      await expect(session.deleteFile({ path: "dir" })).rejects.toMatchObject({ reason: "invalid_argument" });
      await expect(session.listDirectory({ path: "dir/inner.txt" })).rejects.toThrow(/not a directory/);
      expect(await session.readTextFile({ path: "dir/inner.txt" })).toBe("kept");
    });

    it("keeps every byte, in one piece and as a stream, and replaces what is there", async () => {
      const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 256);
      await session.writeBinaryFile({ path: "new/dirs/are/made.bin", content: bytes });
      expect(Buffer.compare((await session.readBinaryFile({ path: "new/dirs/are/made.bin" })) ?? new Uint8Array(), bytes)).toBe(0);
      await session.writeFile({ path: "new/other/made.bin", content: toStream(bytes, bytes) });
      const stream = await session.readFile({ path: "new/other/made.bin" });
      expect(Buffer.compare(new Uint8Array(await new Response(stream).arrayBuffer()), Buffer.concat([bytes, bytes]))).toBe(0);
      await session.writeBinaryFile({ path: "new/other/made.bin", content: new Uint8Array() });
      expect(await session.readBinaryFile({ path: "new/other/made.bin" })).toEqual(new Uint8Array());
    });

    it.each([
      ["a\nb\nc\n", undefined, 2, "a\nb"],
      ["a\nb\nc\n", 2, 3, "b\nc"],
      ["a\nb\nc\n", 3, 99, "c\n"],
      ["a\nb\nc\n", 4, undefined, ""],
      ["a\nb\nc", 99, undefined, ""],
      ["a\r\nb\r\nc\r\n", 1, 2, "a\r\nb"],
      ["a\nb", -3, 1, "a"],
      ["a\nb", 2, 1, ""],
      ["a\nb", 1, 0, ""],
      ["", 1, 1, ""],
      ["no end", 1, 1, "no end"],
    ])("reads lines of %j from %s to %s", async (content, startLine, endLine, expected) => {
      await session.writeTextFile({ path: "lines.txt", content });
      const range = { ...(startLine !== undefined && { startLine }), ...(endLine !== undefined && { endLine }) };
      expect(await session.readTextFile({ path: "lines.txt", ...range })).toBe(expected);
    });

    it("reads a few lines of a file that is far larger than memory should be", async () => {
      await session.run({ command: "yes 'ein grüner Papagei 🦜' | head -c 300M > huge.txt; echo >> huge.txt; echo last >> huge.txt" });
      const before = process.memoryUsage().rss;
      expect(await session.readTextFile({ path: "huge.txt", startLine: 3, endLine: 3 })).toBe("ein grüner Papagei 🦜");
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
      await session.deleteFile({ path: "huge.txt" });
      await expect(session.readTextFile({ path: "lines.txt", startLine: 1.5 })).rejects.toThrow(
        /startLine must be a whole number, not 1.5/,
      );
    });

    it("writes and reads other encodings, and refuses what they cannot hold", async () => {
      for (const [encoding, bytes] of [
        ["utf-16le", "fd00fc0034d81edd"],
        ["utf-16be", "00fd00fcd834dd1e"],
        ["utf8", "c3bdc3bcf09d849e"],
      ]) {
        await session.writeTextFile({ path: "encoded.txt", content: "ýü𝄞", encoding });
        expect(Buffer.from((await session.readBinaryFile({ path: "encoded.txt" })) ?? []).toString("hex")).toBe(bytes);
        expect(await session.readTextFile({ path: "encoded.txt", encoding })).toBe("ýü𝄞");
      }
      await session.writeTextFile({ path: "encoded.txt", content: "Zażółć €", encoding: "windows-1250" });
      expect(await session.readTextFile({ path: "encoded.txt", encoding: "windows-1250", startLine: 1, endLine: 1 })).toBe("Zażółć €");
      await expect(session.writeTextFile({ path: "encoded.txt", content: "日本", encoding: "latin1" })).rejects.toThrow(
        /no character "日"/,
      );
      await expect(session.writeTextFile({ path: "encoded.txt", content: "x", encoding: "shift_jis" })).rejects.toThrow(
        /cannot be written/,
      );
      await expect(session.readTextFile({ path: "encoded.txt", encoding: "nonsense" })).rejects.toMatchObject({
        reason: "invalid_argument",
      });
      await session.writeTextFile({ path: "encoded.txt", content: "\uFEFFmarked" });
      expect(await session.readTextFile({ path: "encoded.txt" })).toBe("\uFEFFmarked");
    });

    it("describes what links lead to, and lists and deletes the links themselves", async () => {
      const { exitCode } = await session.run({
        command:
          "rm -rf kinds && mkdir -p kinds/sub && cd kinds && printf 12345 > file && ln -s file to-file && ln -s sub to-dir && ln -s nowhere broken && " +
          "ln -s loop loop && mkfifo fifo && ln -s fifo to-fifo && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'",
      });
      expect(exitCode).toBe(0);
      expect(await session.stat({ path: "kinds/file" })).toEqual({ type: "file", size: 5 });
      expect(await session.stat({ path: "kinds/to-file" })).toEqual({ type: "file", size: 5 });
      expect(await session.stat({ path: "kinds/to-dir" })).toMatchObject({ type: "directory" });
      for (const name of ["fifo", "to-fifo", "sock"])
        expect(await session.stat({ path: `kinds/${name}` })).toMatchObject({ type: "other" });
      expect(await session.stat({ path: "/dev/null" })).toMatchObject({ type: "other" });
      expect(await session.stat({ path: "kinds/broken" })).toBeNull();
      const kinds = Object.fromEntries(((await session.listDirectory({ path: "kinds" })) ?? []).map(({ name, type }) => [name, type]));
      expect(kinds).toEqual({
        ...{ file: "file", sub: "directory", fifo: "other", sock: "other" },
        ...{ "to-file": "symlink", "to-dir": "symlink", broken: "symlink", loop: "symlink", "to-fifo": "symlink" },
      });
      expect(await session.listDirectory({ path: "kinds/to-dir" })).toEqual([]);
      for (const name of ["to-dir", "to-file", "broken", "fifo"]) {
        expect(await session.deleteFile({ path: `kinds/${name}` })).toBe(true);
        expect(await session.deleteFile({ path: `kinds/${name}` })).toBe(false);
      }
      expect(await session.stat({ path: "kinds/file" })).not.toBeNull();
      expect(await session.stat({ path: "kinds/sub" })).not.toBeNull();
      await session.run({ command: "sudo mkdir -p /locked && sudo touch /locked/file" });
      await expect(session.deleteFile({ path: "/locked/file" })).rejects.toMatchObject({ reason: "permission_denied" });
    });

    it("takes every name as it is, in every member", async () => {
      for (const name of ODD_NAMES) {
        const path = `odd/${name}`;
        await session.writeTextFile({ path, content: name });
        const { stdout } = await session.run({ command: 'cat -- "$NAME"', workingDirectory: "odd", env: { NAME: name } });
        expect(stdout).toBe(name);
        expect(await session.readTextFile({ path })).toBe(name);
        expect(await session.stat({ path })).toEqual({ type: "file", size: Buffer.byteLength(name) });
      }
      expect(((await session.listDirectory({ path: "odd" })) ?? []).map(({ name }) => name).sort()).toEqual([...ODD_NAMES].sort());
      for (const name of ODD_NAMES) expect(await session.deleteFile({ path: `odd/${name}` })).toBe(true);
      expect(await session.listDirectory({ path: "odd" })).toEqual([]);
      await expect(session.readTextFile({ path: "nul\0" })).rejects.toMatchObject({ reason: "invalid_argument" });
    });

    it("an abort ends each call with its reason, also in the middle of a stream, and no half of a file is left", async () => {
      const reason = new Error("enough");
      const aborted = AbortSignal.abort(reason);
      const calls: (() => PromiseLike<unknown>)[] = [
        () => session.readFile({ path: "x", abortSignal: aborted }),
        () => session.readTextFile({ path: "x", abortSignal: aborted }),
        () => session.writeBinaryFile({ path: "x", content: new Uint8Array(1), abortSignal: aborted }),
        () => session.stat({ path: "x", abortSignal: aborted }),
        () => session.listDirectory({ path: ".", abortSignal: aborted }),
        () => session.deleteFile({ path: "x", abortSignal: aborted }),
        () => session.run({ command: "true", abortSignal: aborted }),
        () => session.spawn({ command: "true", abortSignal: aborted }),
      ];
      for (const call of calls) await expect(call()).rejects.toBe(reason);

      const reading = new AbortController();
      await session.run({ command: "truncate -s 1G sparse.bin" });
      const sparse = await session.readFile({ path: "sparse.bin", abortSignal: reading.signal });
      const reader = sparse?.getReader();
      await reader?.read();
      reading.abort(reason);
      await expect(
        (async () => {
          for (;;) if ((await reader?.read())?.done !== false) return;
        })(),
      ).rejects.toBe(reason);

      const writing = new AbortController();
      let isCancelled = false;
      const content = new ReadableStream<Uint8Array>({
        pull: (controller) => {
          controller.enqueue(new Uint8Array(65_536));
          if (!writing.signal.aborted) writing.abort(reason);
        },
        cancel: () => {
          isCancelled = true;
        },
      });
      await expect(session.writeFile({ path: "half.bin", content, abortSignal: writing.signal })).rejects.toBe(reason);
      await expect.poll(() => isCancelled, POLL).toBe(true);
      expect(await session.stat({ path: "half.bin" })).toBeNull();

      const failing = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(reason) });
      await expect(session.writeFile({ path: "half.bin", content: failing })).rejects.toBeDefined();
      expect(await session.stat({ path: "half.bin" })).toBeNull();
    });
  });

  describe("run", () => {
    it("gives exit code, stdout and stderr, also of what a signal ended", async () => {
      expect(await session.run({ command: "echo out; echo err >&2; exit 7" })).toEqual({ exitCode: 7, stdout: "out\n", stderr: "err\n" });
      expect((await session.run({ command: "kill -TERM $$" })).exitCode).toBe(143);
      expect((await session.run({ command: "sleep 1 & kill -KILL $!; wait $!" })).exitCode).toBe(137);
      expect(await session.run({ command: "cat" })).toEqual({ exitCode: 0, stdout: "", stderr: "" });
    });

    it("has one base directory for commands and files, which nothing changes", async () => {
      await session.run({ command: "mkdir -p base/sub && cd base && echo here > sub/found.txt" });
      expect((await session.run({ command: "pwd" })).stdout).toBe("/home/user\n");
      expect((await session.run({ command: "pwd", workingDirectory: "base" })).stdout).toBe("/home/user/base\n");
      const { stdout } = await session.run({ command: "grep -rl here base" });
      expect(await session.readTextFile({ path: stdout.trim() })).toBe("here\n");
      const inside = await openSandboxSession(sandbox, { workingDirectory: "base/sub" });
      expect(inside.description).toContain("/home/user/base/sub");
      expect(await inside.readTextFile({ path: "found.txt" })).toBe("here\n");
      expect((await inside.run({ command: "pwd", workingDirectory: ".." })).stdout).toBe("/home/user/base\n");
      await expect(openSandboxSession(sandbox, { workingDirectory: "not/there" })).rejects.toMatchObject({
        name: expect.any(String) as string,
      });
      await expect(session.run({ command: "true", workingDirectory: "not/there" })).rejects.toThrow(/not\/there/);
    });

    it("acts as another user where it is told to", async () => {
      const asRoot = await openSandboxSession(sandbox, { user: "root" });
      expect((await asRoot.run({ command: "id -un; pwd" })).stdout).toBe("root\n/root\n");
      await asRoot.writeTextFile({ path: "mine.txt", content: "x" });
      expect((await asRoot.run({ command: "stat -c %U mine.txt" })).stdout).toBe("root\n");
      expect(await asRoot.deleteFile({ path: "/root/mine.txt" })).toBe(true);
    });

    it("adds variables to those of the sandbox", async () => {
      const { stdout } = await session.run({ command: 'printf %s "$A|$HOME"', env: { A: "x y'\"\n🦜" } });
      expect(stdout).toBe("x y'\"\n🦜|/home/user");
    });

    it("keeps beginning and end of output above its bound", async () => {
      const bounded = await openSandboxSession(sandbox, { maxOutputBytes: 1_000 });
      const { stdout } = await bounded.run({ command: "seq 1 1000000" });
      expect(stdout.length).toBeLessThan(1_100);
      expect(stdout).toMatch(/^1\n2\n[\s\S]*bytes left out[\s\S]*1000000\n$/);
    });

    it("an abort kills the command and rejects with the reason", async () => {
      const controller = new AbortController();
      const running = session.run({ command: "touch started-1; sleep 4711", abortSignal: controller.signal });
      await expect.poll(() => session.stat({ path: "started-1" }), POLL).not.toBeNull();
      controller.abort(new Error("enough"));
      await expect(running).rejects.toThrow("enough");
      await expect.poll(async () => (await session.run({ command: "pgrep -f '[s]leep 4711'" })).exitCode, POLL).toBe(1);
    });
  });

  describe("spawn", () => {
    it("streams both outputs apart, byte by byte, and tells the exit code", async () => {
      const process = await session.spawn({ command: "printf 'a\\000\\377z'; printf err >&2; exit 3", env: {} });
      expect(process.pid).toBeGreaterThan(0);
      expect("stdin" in process).toBe(false);
      const [out, err] = await Promise.all([new Response(process.stdout).bytes(), textStream(process.stderr)]);
      expect([...out]).toEqual([97, 0, 255, 122]);
      expect(err).toBe("err");
      expect(await process.wait()).toEqual({ exitCode: 3 });
      await process.kill();
      expect(await process.wait()).toEqual({ exitCode: 3 });
    });

    it("takes input where it is asked for, and end-of-file comes behind it", async () => {
      const process = await session.spawn({ command: "sha256sum; echo done", stdin: true });
      const bytes = new Uint8Array(3_000_000).fill(65);
      const writer = process.stdin.getWriter();
      void writer.write(bytes);
      await writer.close();
      const { createHash } = await import("node:crypto");
      expect(await textStream(process.stdout)).toBe(`${createHash("sha256").update(bytes).digest("hex")}  -\ndone\n`);
      expect(await process.wait()).toEqual({ exitCode: 0 });
      const gone = await session.spawn({ command: "exit 0", stdin: true });
      await gone.wait();
      await gone.stdin.close();
    });

    it("kill ends it, once and again, and the streams end", async () => {
      const process = await session.spawn({ command: "echo up; exec sleep 4712" });
      const reader = process.stdout.getReader();
      expect(new TextDecoder().decode((await reader.read()).value)).toBe("up\n");
      await Promise.all([process.kill(), process.kill()]);
      expect(await process.wait()).toEqual({ exitCode: 137 });
      await process.kill();
      expect((await reader.read()).done).toBe(true);
    });

    it("an abort kills it, rejects wait with the reason and errors the streams", async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const process = await session.spawn({ command: "echo up; yes & exec sleep 4713", abortSignal: controller.signal });
      const reader = process.stderr.getReader();
      const reading = reader.read();
      controller.abort(reason);
      await expect(process.wait()).rejects.toBe(reason);
      await expect(reading).rejects.toBe(reason);
      await process.kill();
      await expect.poll(async () => (await session.run({ command: "pgrep -f '[s]leep 4713'" })).exitCode, POLL).toBe(1);
    });

    it("an abort after the end changes nothing", async () => {
      const controller = new AbortController();
      const process = await session.spawn({ command: "exit 4", abortSignal: controller.signal });
      expect(await process.wait()).toEqual({ exitCode: 4 });
      controller.abort(new Error("late"));
      expect(await process.wait()).toEqual({ exitCode: 4 });
    });

    it("a slow reader makes the process wait, and loses nothing", async () => {
      const bounded = await openSandboxSession(sandbox, { bufferBytes: 100_000, stallMs: 0 });
      const process = await bounded.spawn({ command: "head -c 40M /dev/zero && touch written-all" });
      const reader = process.stdout.getReader();
      let sizeBytes = (await reader.read()).value?.length ?? 0;
      // It has all the time it wants, and yet cannot write more than the pipes and buffers on the way take.
      for (let round = 0; round < 10; round++) expect(await session.stat({ path: "written-all" })).toBeNull();
      for (let read = await reader.read(); !read.done; read = await reader.read()) sizeBytes += read.value.length;
      expect(sizeBytes).toBe(40 * 1024 * 1024);
      expect(await process.wait()).toEqual({ exitCode: 0 });
    });

    it("a stream that nobody reads does not stop the process for ever, and says what it lost", async () => {
      const bounded = await openSandboxSession(sandbox, { bufferBytes: 100_000, stallMs: 300 });
      const process = await bounded.spawn({ command: "head -c 20M /dev/zero >&2; echo end" });
      expect(await textStream(process.stdout)).toBe("end\n");
      expect(await process.wait()).toEqual({ exitCode: 0 });
      await expect(textStream(process.stderr)).rejects.toThrow(/bytes of stderr and what follows are missing here/);
    });

    it("a stream that is cancelled is not waited for", async () => {
      const bounded = await openSandboxSession(sandbox, { bufferBytes: 100_000, stallMs: 0 });
      const process = await bounded.spawn({ command: "head -c 20M /dev/zero >&2; echo end" });
      await process.stderr.cancel();
      expect(await textStream(process.stdout)).toBe("end\n");
      expect(await process.wait()).toEqual({ exitCode: 0 });
    });

    it("kill works where a full buffer makes the process wait", async () => {
      const bounded = await openSandboxSession(sandbox, { bufferBytes: 100_000, stallMs: 0 });
      const process = await bounded.spawn({ command: "exec cat /dev/zero" });
      await process.kill();
      expect(await process.wait()).toEqual({ exitCode: 137 });
    });
  });

  it("a sandbox that is killed ends what runs in it with an error, and never with an exit code", async () => {
    const other = await Sandbox.create({ ...connection, timeoutMs: 60_000 });
    const doomed = await openSandboxSession(other);
    const process = await doomed.spawn({ command: "echo up; exec sleep 4714" });
    const reader = process.stdout.getReader();
    await reader.read();
    const running = doomed.run({ command: "touch started; sleep 4715" });
    await expect.poll(() => doomed.stat({ path: "started" }), POLL).not.toBeNull();
    const ends = [
      expect(process.wait()).rejects.toMatchObject({ reason: "sandbox_gone" }),
      expect(running).rejects.toMatchObject({ reason: "sandbox_gone" }),
    ];
    await other.kill();
    await Promise.all(ends);
    await expect(reader.read()).rejects.toMatchObject({ reason: "sandbox_gone" });
    await process.kill();
    await expect(doomed.readTextFile({ path: "x" })).rejects.toThrow();
    await expect(doomed.deleteFile({ path: "x" })).rejects.toThrow();
  });
});
