import { afterAll, beforeAll, expect, it } from "vitest";
import { createSandboxBackend, type OwnedSandboxBackend } from "../../../src/agent/langchain/open-backend.js";
import { PNG } from "../../support/pixel.js";
import { describeOnPlatform } from "../../support/platform.js";

const encode = (text: string) => new TextEncoder().encode(text);

describeOnPlatform("files of a backend for deepagents", ({ apiUrl, sandboxUrl, apiKey }) => {
  let backend: OwnedSandboxBackend;
  beforeAll(() => {
    backend = createSandboxBackend({ create: { apiUrl, sandboxUrl, apiKey, timeoutMs: 300_000 } });
  });
  afterAll(() => backend.close());
  const cat = async (path: string) => (await backend.execute(`cat '${path}'`)).output;

  it("ls: absolute paths, directories with a slash, hidden files, names of every kind", async () => {
    for (const name of [".hidden", "with space.txt", "测试.txt", "it's (1).txt", "-dash", "line\nbreak", "sub/file.txt"]) {
      expect(await backend.write(`/tmp/ls/${name}`, "text")).toEqual({ path: `/tmp/ls/${name}`, filesUpdate: null });
    }
    const { files, error } = await backend.ls("/tmp/ls");
    expect(error).toBeUndefined();
    expect(files?.map(({ path }) => path).sort()).toEqual(
      ["-dash", ".hidden", "it's (1).txt", "line\nbreak", "sub/", "with space.txt", "测试.txt"].map((name) => `/tmp/ls/${name}`),
    );
    const file = files?.find(({ path }) => path.endsWith(".hidden"));
    expect(file).toEqual({ path: "/tmp/ls/.hidden", is_dir: false, size: 4, modified_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(files?.find(({ path }) => path === "/tmp/ls/sub/")).toMatchObject({ is_dir: true });
    expect((await backend.ls("/tmp/ls/")).files).toHaveLength(7);
  });

  it("ls: what is not there is empty, and a file is told in the words by which deepagents knows it", async () => {
    expect(await backend.ls("/tmp/not-there")).toEqual({ files: [] });
    await backend.execute("mkdir -p /tmp/empty");
    expect(await backend.ls("/tmp/empty")).toEqual({ files: [] });
    expect((await backend.ls("/etc/passwd")).error).toContain("not a directory");
    expect((await backend.ls("a\0b")).error).toContain("NUL");
  });

  it("read: lines from an offset, counted from 0, and where the rest begins", async () => {
    await backend.write("/tmp/rows.txt", Array.from({ length: 20 }, (_, n) => `row ${n + 1}`).join("\n"));
    const text = { mimeType: "text/plain", totalLines: 20 };
    expect(await backend.read("/tmp/rows.txt", 10, 2)).toEqual({
      ...text,
      content: "row 11\nrow 12",
      startLine: 11,
      endLine: 12,
      nextOffset: 12,
    });
    expect(await backend.read("/tmp/rows.txt", 18)).toEqual({ ...text, content: "row 19\nrow 20", startLine: 19, endLine: 20 });
    expect(await backend.read("/tmp/rows.txt", -1.5, 1.9)).toMatchObject({ content: "row 1", startLine: 1 });
    expect(await backend.read("/tmp/rows.txt", 0, 0)).toEqual({ content: "", mimeType: "text/plain" });
    expect((await backend.read("/tmp/rows.txt", 20, 5)).error).toMatch(/has 20 lines, so none from offset 20/);
    await backend.write("/tmp/many.txt", "line\n".repeat(1_000));
    expect(await backend.read("/tmp/many.txt")).toMatchObject({ endLine: 500, nextOffset: 500, totalLines: 1_000 });
    expect(await backend.read("/tmp/many.txt", 500)).toMatchObject({ endLine: 1_000, content: "line\n".repeat(500).trimEnd() });
    expect((await backend.read("/tmp/many.txt", 500, 501)).content).toBe("line\n".repeat(500));
  });

  it("read: an empty file is told in the words of the framework, a missing one and a directory are errors", async () => {
    await backend.write("/tmp/empty.txt", "");
    expect((await backend.read("/tmp/empty.txt")).content).toBe("System reminder: File exists but has empty contents");
    expect((await backend.read("/tmp/no.txt")).error).toBe("read failed: '/tmp/no.txt' not found. Use ls or glob to see what is there.");
    expect((await backend.read("/tmp")).error).toContain("is a directory");
    expect((await backend.readRaw("/tmp/no.txt")).error).toContain("not found");
  });

  it("read: images and documents are bytes, and the first bytes count more than the name", async () => {
    await backend.write("/tmp/dot.png", PNG);
    const dot = Uint8Array.from(atob(PNG), (character) => character.charCodeAt(0));
    expect(await backend.read("/tmp/dot.png")).toEqual({ content: dot, mimeType: "image/png" });
    await backend.execute(
      "cp /tmp/dot.png /tmp/dot.txt; printf 'a page that is missing' > /tmp/page.png; head -c 100 /dev/zero > /tmp/sound.mp3",
    );
    expect(await backend.read("/tmp/dot.txt")).toEqual({ content: dot, mimeType: "image/png" });
    expect(await backend.read("/tmp/page.png")).toMatchObject({ content: "a page that is missing", mimeType: "text/plain" });
    expect(await backend.read("/tmp/sound.mp3")).toEqual({ content: new Uint8Array(100), mimeType: "audio/mpeg" });
    await backend.execute("cp /tmp/sound.mp3 /tmp/noise.bin; truncate -s 11M /tmp/sound.mp3");
    expect((await backend.read("/tmp/noise.bin")).error).toMatch(/is no text; look at it with execute/);
    expect((await backend.read("/tmp/sound.mp3")).error).toMatch(/more than 10485760 bytes/);
  });

  it("read: a text in another encoding is readable, and one of gigabytes is not held in memory", async () => {
    await backend.execute("printf 'caf\\xe9\\n' > /tmp/latin.txt; yes line | head -c 300M > /tmp/huge.txt");
    expect((await backend.read("/tmp/latin.txt")).content).toBe("caf\uFFFD\n");
    const { content, nextOffset, totalLines } = await backend.read("/tmp/huge.txt", 1_000_000, 2);
    expect({ content, nextOffset, totalLines }).toEqual({ content: "line\nline", nextOffset: 1_000_002, totalLines: undefined });
    expect((await backend.readRaw("/tmp/huge.txt")).error).toMatch(/more than 67108864 bytes/);
    expect(await backend.downloadFiles(["/tmp/huge.txt"])).toEqual([{ path: "/tmp/huge.txt", content: null, error: "permission_denied" }]);
    await backend.delete("/tmp/huge.txt");
  });

  it("readRaw: the whole file with its times", async () => {
    await backend.write("/tmp/raw.txt", "a\nb\n");
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(await backend.readRaw("/tmp/raw.txt")).toEqual({
      data: { content: "a\nb\n", mimeType: "text/plain", created_at: time, modified_at: time },
    });
  });

  it("write: makes directories, replaces, and keeps every character", async () => {
    const content = "Special: $VAR `command` $(x) \\ 'q' \"d\"\n\ttab 🌍 мир\n";
    for (const path of ["/tmp/a/b c/d.txt", "/tmp/a//b c///e.txt", "/large_tool_results/call.txt", "in-home.txt"]) {
      expect(await backend.write(path, "before")).toEqual({ path, filesUpdate: null });
      expect(await backend.write(path, content)).toEqual({ path, filesUpdate: null });
      expect(await cat(path)).toBe(content);
    }
    expect((await backend.read("/home/user/in-home.txt")).content).toBe(content);
    expect((await backend.write("/tmp", "x")).error).toContain("is a directory");
    expect((await backend.write("/etc/passwd/x", "x")).error).toContain("not a directory");
    expect((await backend.write("/tmp/text.pdf", "no base64")).error).toBeUndefined();
    expect(await cat("/tmp/text.pdf")).toBe("no base64");
  });

  it("edit: one place or all, with words that say what to do otherwise", async () => {
    const path = "/tmp/edit.txt";
    await backend.write(path, "apple $1\r\n  pear\napple 🍏");
    expect(await backend.edit(path, "pear", "$& plum")).toEqual({ path, filesUpdate: null, occurrences: 1 });
    expect((await backend.edit(path, "apple", "x")).error).toMatch(
      /^edit failed: old_string is in the file multiple times: 2 .* lines 1, 3; .*replace_all/,
    );
    expect(await backend.edit(path, "apple", "fig", true)).toMatchObject({ occurrences: 2 });
    expect(await cat(path)).toBe("fig $1\r\n  $& plum\nfig 🍏");
    expect((await backend.edit(path, "none", "x")).error).toMatch(/old_string is not found in the file/);
    expect((await backend.edit(path, "$& plum\n  fig 🍏", "x")).error).toMatch(/not found .* line 2 on .* white space/);
    expect(await backend.edit(path, "fig", "fig")).toMatchObject({ occurrences: 1 });
    expect((await backend.edit(path, "", "x")).error).toContain("old_string is empty");
    expect((await backend.edit("/tmp/no.txt", "a", "b")).error).toContain("not found");
    expect((await backend.edit("/tmp/dot.png", "a", "b")).error).toContain("is an image");
    await backend.write("/tmp/blank.txt", "");
    expect(await backend.edit("/tmp/blank.txt", "", "filled")).toMatchObject({ occurrences: 1 });
    expect(await cat("/tmp/blank.txt")).toBe("filled");
  });

  it("edit: edits of one file at the same time all take effect", async () => {
    const names = Array.from({ length: 12 }, (_, n) => `<${n}>`);
    await backend.write("/tmp/parallel.txt", names.join("\n"));
    const results = await Promise.all(names.map((name) => backend.edit("/tmp/parallel.txt", name, `done${name}`)));
    expect(results.every(({ error }) => error === undefined)).toBe(true);
    expect(await cat("/tmp/parallel.txt")).toBe(names.map((name) => `done${name}`).join("\n"));
  });

  it("delete: files, whole directories and links, but neither what is missing nor everything", async () => {
    await backend.execute("mkdir -p /tmp/gone/deep && touch /tmp/gone/deep/f && ln -s /tmp/nowhere /tmp/broken && ln -s /etc /tmp/etc");
    for (const path of ["/tmp/gone", "/tmp/broken", "/tmp/etc"]) expect(await backend.delete(path)).toEqual({ path, filesUpdate: null });
    expect((await backend.execute("ls -d /tmp/gone /tmp/broken /tmp/etc; ls /etc | wc -l")).output).toMatch(
      /(.*cannot access.*\n){3}[1-9]\d+\n$/,
    );
    expect((await backend.delete("/tmp/gone")).error).toContain("'/tmp/gone' not found");
    for (const path of ["/", "//", "/tmp/.."]) expect((await backend.delete(path)).error).toContain("root directory");
    expect((await backend.delete("")).error).toContain("the path is empty");
    expect((await backend.ls("/home/user")).files?.length).toBeGreaterThan(0);
  });

  it("uploads and downloads have an outcome for each file", async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
    expect(await backend.uploadFiles([])).toEqual([]);
    expect(
      await backend.uploadFiles([
        ["/tmp/up/a.bin", bytes],
        ["/tmp", bytes],
        ["bad\0name", bytes],
        ["/etc/passwd/x", bytes],
        ["/tmp/up/b.txt", encode("first")],
        ["/tmp/up/b.txt", encode("second")],
      ]),
    ).toEqual([
      { path: "/tmp/up/a.bin", error: null },
      { path: "/tmp", error: "is_directory" },
      { path: "bad\0name", error: "invalid_path" },
      { path: "/etc/passwd/x", error: "invalid_path" },
      { path: "/tmp/up/b.txt", error: null },
      { path: "/tmp/up/b.txt", error: null },
    ]);
    expect(await backend.downloadFiles(["/tmp/up/a.bin", "/tmp/none", "/tmp", "bad\0name", "/tmp/up/b.txt"])).toEqual([
      { path: "/tmp/up/a.bin", content: bytes, error: null },
      { path: "/tmp/none", content: null, error: "file_not_found" },
      { path: "/tmp", content: null, error: "is_directory" },
      { path: "bad\0name", content: null, error: "invalid_path" },
      { path: "/tmp/up/b.txt", content: encode("second"), error: null },
    ]);
  });
});
