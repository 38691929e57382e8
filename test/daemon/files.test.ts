import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmod, link, lstat, mkdir, readdir, readFile, readlink, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createConnection } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { handleFiles } from "../../src/daemon/files/files-handler.js";
import { signFileUrl } from "../../src/shared/signed-url.js";
import { ALICE, BOB, codeOf, type FileSandbox, openFileSandbox } from "./support/file-sandbox.js";

let box: FileSandbox;
beforeAll(async () => {
  box = await openFileSandbox((req, res, deps) => handleFiles(req, res, deps));
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

const url = (query: Record<string, string>): string => `${box.baseUrl}/files?${new URLSearchParams(query)}`;

function form(files: readonly (readonly [name: string, content: string | Uint8Array<ArrayBuffer>])[]): FormData {
  const data = new FormData();
  for (const [name, content] of files) data.append("file", new Blob([content]), name);
  return data;
}

const uploadForm = (files: Parameters<typeof form>[0], query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  fetch(url(query), { method: "POST", body: form(files), headers });

const uploadRaw = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  fetch(url({ path }), { method: "POST", body, headers: { "content-type": "application/octet-stream", ...headers } });

const download = (path: string, headers: Record<string, string> = {}) =>
  fetch(url({ path }), { headers: { "accept-encoding": "identity", ...headers } });

async function errorOf(response: Response): Promise<{ code: number; message: string }> {
  expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
  const body = (await response.json()) as { code: number; message: string };
  expect(body.code).toBe(response.status);
  return body;
}

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe("upload", () => {
  it("FIL-02: stores empty files of both kinds, and FIL-01: an empty download says Content-Length 0", async () => {
    const written = await uploadForm([["e1.bin", ""]], { path: "e1.bin" });
    expect(written.status).toBe(200);
    expect(await written.json()).toEqual([{ name: "e1.bin", path: join(box.home, "e1.bin"), type: "file" }]);
    expect(await (await uploadRaw("e2.bin", "")).json()).toEqual([{ name: "e2.bin", path: join(box.home, "e2.bin"), type: "file" }]);
    for (const path of ["e1.bin", "e2.bin"]) {
      expect((await box.filesystem.stat({ path })).entry).toMatchObject({ size: 0n, permissions: "-rw-r--r--", owner: "alice" });
      for (const encoding of ["identity", "gzip, deflate"]) {
        const response = await download(path, { "accept-encoding": encoding });
        expect([response.status, response.headers.get("content-length")]).toEqual([200, "0"]);
        expect((await response.arrayBuffer()).byteLength).toBe(0);
      }
    }
  });

  it("FIL-30: stores many files of one request by their names with directories, sizes in bytes", async () => {
    const text = "é日🚀".repeat(1000);
    const files = [
      ["multi/ünï.txt", text],
      ["multi/b/plain.txt", "plain"],
      [join(box.home, 'multi/q"uote.txt'), "q"],
    ] as const;
    const written = (await (await uploadForm(files)).json()) as { path: string }[];
    expect(written.map((file) => file.path)).toEqual(
      ["multi/ünï.txt", "multi/b/plain.txt", 'multi/q"uote.txt'].map((name) => join(box.home, name)),
    );
    expect(await readFile(join(box.home, "multi/ünï.txt"), "utf8")).toBe(text);
    expect((await box.filesystem.stat({ path: "multi/ünï.txt" })).entry?.size).toBe(BigInt(Buffer.byteLength(text)));
    expect(await readFile(join(box.home, "multi/b/plain.txt"), "utf8")).toBe("plain");
    expect((await box.filesystem.stat({ path: "multi/b" })).entry).toMatchObject({ owner: "alice", mode: 0o755 });
  });

  it("FIL-12: names that begin with dots survive", async () => {
    for (const path of [".env", "..data/x", "a/./b", "a/../c", "..."]) {
      expect((await uploadRaw(path, path)).status).toBe(200);
      expect(await (await download(path)).text()).toBe(path);
    }
    expect(await readFile(join(box.home, "..data/x"), "utf8")).toBe("..data/x");
    expect(await readFile(join(box.home, "c"), "utf8")).toBe("a/../c");
  });

  it("FIL-14: a directory as target is 400 for both directions and stays untouched", async () => {
    await mkdir(join(box.home, "d"));
    expect((await errorOf(await uploadRaw("d", "x"))).message).toContain(join(box.home, "d"));
    expect((await uploadForm([["d", "x"]])).status).toBe(400);
    expect((await errorOf(await download("d"))).code).toBe(400);
    expect((await stat(join(box.home, "d"))).isDirectory()).toBe(true);
    await uploadRaw("not-a-dir", "x");
    expect((await errorOf(await uploadRaw("not-a-dir/x", "x"))).code).toBe(400);
  });

  it("FIL-16: 50 parallel uploads into one new nested directory all succeed and own the new directories only", async () => {
    await mkdir(join(box.home, "old"));
    const all = await Promise.all(Array.from({ length: 50 }, (_, index) => uploadRaw(`old/n/e/w/${index}.txt`, `${index}`)));
    expect(all.map((response) => response.status)).toEqual(Array(50).fill(200));
    expect(await readdir(join(box.home, "old/n/e/w"))).toHaveLength(50);
    for (const path of ["old/n", "old/n/e", "old/n/e/w"]) expect((await stat(join(box.home, path))).uid).toBe(ALICE.uid);
    expect((await stat(join(box.home, "old"))).uid).toBe(0);
  });

  it("FIL-18: the same target twice in one request is 400; the first content stays", async () => {
    const response = await uploadForm([
      ["x", "1"],
      ["./x", "2"],
    ]);
    expect((await errorOf(response)).message).toContain("twice");
    expect(await readFile(join(box.home, "x"), "utf8")).toBe("1");
    expect(
      (
        await uploadForm(
          [
            ["y", "1"],
            ["z", "2"],
          ],
          { path: "both" },
        )
      ).status,
    ).toBe(400);
  });

  it("FIL-09: gzip bodies are stored decoded; unknown codings, damaged and truncated bodies are 400 and leave nothing", async () => {
    const text = randomBytes(3_000_000).toString("hex");
    const packed = gzipSync(text, { level: 1 });
    expect((await uploadRaw("gz.txt", packed, { "content-encoding": "gzip" })).status).toBe(200);
    expect(await readFile(join(box.home, "gz.txt"), "utf8")).toBe(text);
    const truncated = await uploadRaw("gz-short.txt", packed.subarray(0, packed.length - 100), { "content-encoding": "gzip" });
    expect((await errorOf(truncated)).message).toContain("gzip");
    expect((await uploadRaw("gz-bad.txt", "this is no gzip", { "content-encoding": "gzip" })).status).toBe(400);
    expect((await uploadRaw("gz-br.txt", "x", { "content-encoding": "br" })).status).toBe(400);
    expect((await uploadRaw("gz-id.txt", "x", { "content-encoding": "identity" })).status).toBe(200);
    const names = await readdir(box.home);
    expect(names.filter((name) => /gz-short|gz-bad|gz-br|upload-/.test(name))).toEqual([]);
  });

  it("refuses other content types, a raw body without path, parts without a name, and malformed multipart", async () => {
    expect((await fetch(url({ path: "t" }), { method: "POST", body: "x", headers: { "content-type": "text/plain" } })).status).toBe(400);
    expect((await fetch(url({}), { method: "POST", body: "x", headers: { "content-type": "application/octet-stream" } })).status).toBe(400);
    const part = (headers: string, end = "--") => `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\nbody\r\n--b${end}\r\n`;
    const post = async (body: string, query: Record<string, string> = {}, type = "multipart/form-data; boundary=b") =>
      fetch(url(query), { method: "POST", body, headers: { "content-type": type } });
    expect((await post(part('name="file"'))).status).toBe(400);
    expect((await post(part('name="file"'), { path: "named-by-path" })).status).toBe(200);
    expect(await readFile(join(box.home, "named-by-path"), "utf8")).toBe("body");
    expect(await (await post(part('name="other"; filename="skipped"'))).json()).toEqual([]);
    expect((await post(part('name="file"; filename="cut"').slice(0, -8))).status).toBe(400);
    expect((await post("x", {}, "multipart/form-data")).status).toBe(400);
    expect(await codeOf(box.filesystem.stat({ path: "cut" }))).toBe("NotFound");
    expect(await codeOf(box.filesystem.stat({ path: "skipped" }))).toBe("NotFound");
  });

  it("stores thousands of small parts of one request", async () => {
    const files = Array.from({ length: 1000 }, (_, index) => [`tiny/${index}`, String(index)] as const);
    const written = (await (await uploadForm(files)).json()) as { path: string }[];
    expect(written).toHaveLength(1000);
    expect(await readFile(join(box.home, "tiny/999"), "utf8")).toBe("999");
  });

  it("answers an error in the middle of a large body, compressed or not, and the client can read it", async () => {
    await mkdir(join(box.home, "taken"));
    const big = randomBytes(20_000_000);
    expect(
      (
        await uploadForm([
          ["first", big],
          ["taken", big],
          ["never", big],
        ])
      ).status,
    ).toBe(400);
    expect((await stat(join(box.home, "first"))).size).toBe(big.length);
    expect(await codeOf(box.filesystem.stat({ path: "never" }))).toBe("NotFound");
    expect((await uploadRaw("taken", big)).status).toBe(400);
    expect((await uploadRaw("taken", gzipSync(big, { level: 1 }), { "content-encoding": "gzip" })).status).toBe(400);
  });

  it("owns what another user names, also when the file exists, and keeps its mode", async () => {
    await writeFile(join(box.bobHome, "mine"), "old");
    await chmod(join(box.bobHome, "mine"), 0o755);
    const response = await fetch(url({ path: "mine", username: BOB.name }), { method: "POST", body: form([["mine", "new"]]) });
    expect(response.status).toBe(200);
    const info = await stat(join(box.bobHome, "mine"));
    expect([info.uid, info.gid, info.mode & 0o777]).toEqual([BOB.uid, BOB.gid, 0o755]);
    expect((await fetch(url({ path: "x", username: "mallory" }))).status).toBe(401);
    expect((await fetch(url({ path: "~bob/x" }))).status).toBe(400);
    expect((await fetch(url({ path: "a\0b" }))).status).toBe(400);
  });

  it("writes through links, to nothing too, and keeps the other names of a file", async () => {
    const big = randomBytes(3_000_000);
    for (const body of ["small", big]) {
      await writeFile(join(box.home, "pointee"), "before");
      for (const name of ["pointer", "pointer2", "hard"]) await box.filesystem.remove({ path: name });
      await symlink("pointee", join(box.home, "pointer"));
      await link(join(box.home, "pointee"), join(box.home, "hard"));
      expect((await uploadRaw("pointer", body)).status).toBe(200);
      expect(await readlink(join(box.home, "pointer"))).toBe("pointee");
      expect(Buffer.compare(await readFile(join(box.home, "hard")), Buffer.from(body))).toBe(0);
      await box.filesystem.remove({ path: "made-through" });
      await symlink("made-through", join(box.home, "pointer2"));
      expect((await uploadRaw("pointer2", body)).status).toBe(200);
      expect(Buffer.compare(await readFile(join(box.home, "made-through")), Buffer.from(body))).toBe(0);
    }
  });

  it("an upload that breaks off keeps the file that was there and leaves no other", async () => {
    await writeFile(join(box.home, "precious"), "complete");
    for (const [path, size] of [
      ["precious", 10],
      ["precious", 5_000_000],
      ["fresh", 5_000_000],
      ["fresh", 10],
    ] as const) {
      const socket = createConnection(Number(new URL(box.baseUrl).port), "127.0.0.1");
      socket.write(
        `POST /files?path=${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\nContent-Length: 9000000\r\n\r\n`,
      );
      await new Promise((resolve) => socket.write(Buffer.alloc(size, 1), resolve));
      // A large upload grows without a name, so that a daemon that dies now leaves nothing either.
      if (size > 1_048_576) await expect.poll(openNamelessFiles).toBe(1);
      expect((await readdir(box.home)).filter((name) => name.includes("upload-"))).toEqual([]);
      socket.destroy();
      await expect.poll(openNamelessFiles).toBe(0);
      expect((await readdir(box.home)).filter((name) => name.includes("upload-"))).toEqual([]);
    }
    expect(await readFile(join(box.home, "precious"), "utf8")).toBe("complete");
    expect(await codeOf(box.filesystem.stat({ path: "fresh" }))).toBe("NotFound");
  });

  it("FIL-37: the answer comes after the file is closed: its content is there at once", async () => {
    for (let round = 0; round < 100; round++) {
      await (await uploadRaw("now", `round ${round}`)).text();
      expect(await readFile(join(box.home, "now"), "utf8")).toBe(`round ${round}`);
    }
  });

  it("answers 507 when the disk is full and keeps the connection usable", async () => {
    // /dev/full lies outside of what an upload may write to, so a tiny file system stands in.
    const { execFileSync } = await import("node:child_process");
    const mount = join(box.root, "tiny");
    await mkdir(mount);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "none", mount]);
    try {
      const response = await uploadRaw(join(mount, "big"), new Uint8Array(8_000_000));
      expect((await errorOf(response)).code).toBe(507);
      expect(await readdir(mount)).toEqual([]);
      expect((await uploadRaw(join(mount, "fits"), "x")).status).toBe(200);
    } finally {
      execFileSync("umount", ["-l", mount]);
    }
  });

  it("a watch sees create and write of the target only, for small and large uploads", async () => {
    await mkdir(join(box.home, "watched"));
    const { watcherId } = await box.filesystem.createWatcher({ path: "watched" });
    const seen = new Set<string>();
    for (const body of ["small", randomBytes(3_000_000), "small", randomBytes(3_000_000)]) await uploadRaw("watched/f", body);
    await expect
      .poll(async () => {
        for (const event of (await box.filesystem.getWatcherEvents({ watcherId })).events) seen.add(`${event.type} ${event.name}`);
        return [...seen].sort();
      })
      .toEqual(["1 f", "2 f", "5 f"]);
    await box.filesystem.removeWatcher({ watcherId });
  });
});

describe("metadata", () => {
  const metadataOf = async (path: string) => (await box.filesystem.stat({ path })).entry?.metadata;

  it("is stored with lower-case keys, returned, shown by stat and list, and replaced as a whole", async () => {
    for (const body of ["small", randomBytes(2_000_000)]) {
      const response = await uploadRaw("meta.txt", body, { "X-Metadata-Up-Case": "Value 1", "x-metadata-b": "" });
      expect(await response.json()).toEqual([
        { name: "meta.txt", path: join(box.home, "meta.txt"), type: "file", metadata: { "up-case": "Value 1", b: "" } },
      ]);
      expect(await metadataOf("meta.txt")).toEqual({ "up-case": "Value 1", b: "" });
      const listed = (await box.filesystem.listDir({ path: "" })).entries.find((entry) => entry.name === "meta.txt");
      expect(listed?.metadata).toEqual({ "up-case": "Value 1", b: "" });
      await uploadRaw("meta.txt", body, { "x-metadata-c": "3" });
      expect(await metadataOf("meta.txt")).toEqual({ c: "3" });
      await box.filesystem.move({ source: "meta.txt", destination: "meta2.txt" });
      expect(await metadataOf("meta2.txt")).toEqual({ c: "3" });
    }
  });

  it("FIL-26: overwriting without metadata clears it", async () => {
    await uploadForm([["m", "1"]], {}, { "x-metadata-a": "1" });
    expect(await metadataOf("m")).toEqual({ a: "1" });
    await uploadForm([["m", "2"]]);
    expect(await metadataOf("m")).toEqual({});
  });

  it("FIL-26: an empty key, a long key, non-ASCII and too much of it are 400 before anything is written", async () => {
    const bad: Record<string, string>[] = [
      { "x-metadata-": "x" },
      { [`x-metadata-${"k".repeat(247)}`]: "x" },
      { "x-metadata-a": "\u00e9" },
      { "x-metadata-a": "x".repeat(4096) },
    ];
    for (const headers of bad) expect((await uploadRaw("bad-meta", "x", headers)).status).toBe(400);
    expect(await codeOf(box.filesystem.stat({ path: "bad-meta" }))).toBe("NotFound");
  });
});

describe("download", () => {
  it("answers 404 with the absolute path for what is missing, and a typed error for a loop of links", async () => {
    expect(await errorOf(await download("missing.txt"))).toMatchObject({
      code: 404,
      message: `path '${join(box.home, "missing.txt")}' does not exist`,
    });
    await symlink("loop2", join(box.home, "loop1"));
    await symlink("loop1", join(box.home, "loop2"));
    expect((await errorOf(await download("loop1"))).code).toBe(409);
  });

  it("FIL-27: names of any kind give a valid header, and the type follows the extension", async () => {
    const expected = [
      ["日本.txt", `inline; filename="__.txt"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt`, "text/plain; charset=utf-8"],
      ["🚀.png", `inline; filename="_.png"; filename*=UTF-8''%F0%9F%9A%80.png`, "image/png"],
      ['say "hi".json', 'inline; filename="say \\"hi\\".json"', "application/json"],
      ["it's (1).csv", `inline; filename="it's (1).csv"`, "text/csv; charset=utf-8"],
      ["plain.tar", "inline; filename=plain.tar", "application/x-tar"],
      ["line\nbreak", `inline; filename="line_break"; filename*=UTF-8''line%0Abreak`, "text/plain; charset=utf-8"],
    ] as const;
    for (const [name, disposition, type] of expected) {
      await writeFile(join(box.home, name), "x");
      const response = await download(name);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-disposition")).toBe(disposition);
      expect(response.headers.get("content-type")).toBe(type);
      await response.arrayBuffer();
    }
    await writeFile(join(box.home, "blob"), Buffer.from([0, 1, 2]));
    expect((await download("blob")).headers.get("content-type")).toBe("application/octet-stream");
  });

  it("compresses when the request prefers gzip, and only then", async () => {
    const text = "line\n".repeat(400_000);
    await writeFile(join(box.home, "big.txt"), text);
    for (const [header, coding] of [
      ["gzip, deflate", "gzip"],
      ["GZIP;q=1.0, identity;q=0.5", "gzip"],
      ["gzip;q=0.2, identity", null],
      ["gzip;q=0", null],
      ["*", null],
      ["br", null],
      ["identity;q=0, gzip", "gzip"],
    ] as const) {
      const [status, headers, body] = await rawGet("big.txt", { "accept-encoding": header });
      expect([status, headers["content-encoding"] ?? null, headers.vary]).toEqual([200, coding, "Accept-Encoding"]);
      expect((coding === "gzip" ? gunzipSync(body) : body).toString()).toBe(text);
      expect(headers["content-length"]).toBe(coding === "gzip" ? undefined : String(text.length));
    }
    for (const header of ["identity;q=0", "*;q=0", "identity;q=0, gzip;q=0"]) {
      expect((await rawGet("big.txt", { "accept-encoding": header }))[0]).toBe(406);
    }
    const [status, headers] = await rawGet("big.txt", { "accept-encoding": "gzip", range: "bytes=0-9" });
    expect([status, headers["content-encoding"]]).toEqual([206, undefined]);
  });

  it("serves ranges and conditions", async () => {
    await writeFile(join(box.home, "range"), "0123456789");
    const part = async (range: string, headers: Record<string, string> = {}) => {
      const response = await download("range", { range, ...headers });
      return [response.status, response.headers.get("content-range"), response.status < 400 ? await response.text() : ""];
    };
    expect(await part("bytes=2-4")).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await part("bytes=7-")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await part("bytes=-3")).toEqual([206, "bytes 7-9/10", "789"]);
    expect(await part("bytes=8-99")).toEqual([206, "bytes 8-9/10", "89"]);
    expect(await part("bytes=10-")).toEqual([416, "bytes */10", ""]);
    expect(await part("bytes=-0")).toEqual([416, "bytes */10", ""]);
    expect(await part("bytes=5-2")).toEqual([200, null, "0123456789"]);
    expect(await part("bytes=0-1,3-4")).toEqual([200, null, "0123456789"]);
    const whole = await download("range");
    const etag = whole.headers.get("etag") ?? "";
    const modified = whole.headers.get("last-modified") ?? "";
    expect((await download("range", { "if-none-match": etag })).status).toBe(304);
    expect((await download("range", { "if-modified-since": modified })).status).toBe(304);
    expect((await download("range", { "if-match": '"other"' })).status).toBe(412);
    expect(await part("bytes=2-4", { "if-range": etag })).toEqual([206, "bytes 2-4/10", "234"]);
    expect(await part("bytes=2-4", { "if-range": '"other"' })).toEqual([200, null, "0123456789"]);
  });

  it("FIL-06: a slow reader gets every byte, with keep-alive and without", async () => {
    const bytes = randomBytes(8_000_000);
    await writeFile(join(box.home, "slow.bin"), bytes);
    for (const connection of ["keep-alive", "close"]) {
      const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
        request(url({ path: "slow.bin" }), { headers: { connection } }, resolve)
          .on("error", reject)
          .end();
      });
      expect(response.headers["content-length"]).toBe(String(bytes.length));
      const hash = createHash("sha256");
      let size = 0;
      for await (const chunk of response) {
        size += chunk.length;
        hash.update(chunk);
        if (size < 2_000_000) await delay(2);
      }
      expect([size, hash.digest("hex")]).toEqual([bytes.length, sha256(bytes)]);
    }
  });

  it("FIL-06: a file that shrinks while it is read cuts the connection instead of ending early", async () => {
    const path = join(box.home, "shrinking");
    await writeFile(path, Buffer.alloc(64_000_000));
    const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
      request(url({ path: "shrinking" }), resolve)
        .on("error", reject)
        .end();
    });
    await once(response, "readable");
    await truncate(path, 1000);
    await expect(
      (async () => {
        for await (const _ of response);
      })(),
    ).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("reads files whose size is unknown in advance to their end, and parts of them", async () => {
    expect(await (await download("/proc/self/status")).text()).toMatch(/^Name:/);
    const part = await download("/proc/self/status", { range: "bytes=0-4" });
    expect([part.status, await part.text()]).toEqual([206, "Name:"]);
    // States a page.
    const path = "/sys/kernel/mm/transparent_hugepage/enabled";
    const content = await readFile(path, "utf8");
    const whole = await download(path);
    expect([await whole.text(), whole.headers.get("content-length")]).toEqual([content, String(content.length)]);
    expect(await (await download(path, { range: "bytes=-3" })).text()).toBe(content.slice(-3));
    await writeFile(join(box.home, "page"), "p".repeat(4096));
    const page = await download("page", { range: "bytes=4090-9999" });
    expect([await page.text(), page.headers.get("content-range")]).toEqual(["pppppp", "bytes 4090-4095/4096"]);
  });

  it("refuses devices and FIFOs at once", async () => {
    const { execFileSync } = await import("node:child_process");
    execFileSync("mkfifo", [join(box.home, "fifo")]);
    expect((await download("fifo")).status).toBe(400);
    expect((await download("/dev/zero")).status).toBe(400);
    expect((await uploadRaw("fifo", "x")).status).toBe(400);
    expect((await lstat(join(box.home, "fifo"))).isFIFO()).toBe(true);
  });
});

describe("access", () => {
  const token = "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0";
  beforeAll(() => {
    box.state.accessToken = token;
  });
  afterAll(() => {
    box.state.accessToken = undefined;
  });

  it("needs the token or a signature that fits path, operation, user and time", async () => {
    await writeFile(join(box.home, "hello.txt"), "hello");
    const get = async (query: Record<string, string>, headers: Record<string, string> = {}) => {
      const response = await fetch(url(query), { headers });
      return response.ok ? await response.text() : `${response.status} ${(await errorOf(response)).message}`;
    };
    const sign = (grant: Partial<Parameters<typeof signFileUrl>[0]> = {}) =>
      signFileUrl({ path: "hello.txt", operation: "read", username: "", ...grant }, token);
    const path = "hello.txt";
    const now = Math.floor(Date.now() / 1000);

    expect(await get({ path })).toBe("401 missing signature query parameter");
    expect(await get({ path }, { "x-access-token": token })).toBe("hello");
    const signature = await sign();
    expect(await get({ path, signature })).toBe("hello");
    expect(await get({ path, signature }, { "x-access-token": "wrong" })).toMatch(/^401/);
    expect(await get({ path: "./hello.txt", signature })).toBe("401 invalid signature");
    expect(await get({ path, signature: await sign({ operation: "write" }) })).toBe("401 invalid signature");
    expect(await get({ path, username: "alice", signature })).toBe("401 invalid signature");
    expect(await get({ path, username: "alice", signature: await sign({ username: "alice" }) })).toBe("hello");
    const late = { path, signature: await sign({ expiresAtSeconds: now + 60 }) };
    expect(await get({ ...late, signature_expiration: String(now + 60) })).toBe("hello");
    expect(await get({ ...late, signature_expiration: String(now + 61) })).toBe("401 invalid signature");
    expect(await get(late)).toBe("401 invalid signature");
    const past = { path, signature: await sign({ expiresAtSeconds: now - 1 }), signature_expiration: String(now - 1) };
    expect(await get(past)).toBe("401 signature is already expired");
    expect(await get({ path, signature: "v1_x", signature_expiration: String(now - 1) })).toBe("401 invalid signature");
    expect(await get({ path, signature, signature_expiration: "soon" })).toMatch(/^400/);
  });

  it("lets a write signature write and a stranger not", async () => {
    const signature = await signFileUrl({ path: "signed", operation: "write", username: "" }, token);
    expect((await uploadForm([["ignored", "1"]], { path: "signed", signature })).status).toBe(200);
    expect(await readFile(join(box.home, "signed"), "utf8")).toBe("1");
    expect((await uploadForm([["x", "1"]], { path: "unsigned" })).status).toBe(401);
  });

  it("signs as the contract's test vector", async () => {
    const grant = { path: "hello.txt", operation: "read", username: "user" } as const;
    expect(await signFileUrl(grant, token)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  });
});

async function rawGet(
  path: string,
  headers: Record<string, string>,
): Promise<[number | undefined, Record<string, string | string[] | undefined>, Buffer]> {
  const response = await new Promise<import("node:http").IncomingMessage>((resolve, reject) => {
    request(url({ path }), { headers }, resolve).on("error", reject).end();
  });
  const body: Buffer[] = [];
  for await (const chunk of response) body.push(chunk as Buffer);
  return [response.statusCode, response.headers, Buffer.concat(body)];
}

/** Files of this process that have no name, as long as they are open. */
async function openNamelessFiles(): Promise<number> {
  const targets = await Promise.all((await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")));
  return targets.filter((target) => /\/#\d+ \(deleted\)$/.test(target)).length;
}
